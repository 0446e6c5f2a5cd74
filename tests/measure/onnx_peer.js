// onnx_peer.js SHUNT MODEL...: runs each model in ONNX Runtime and in shunt on one drawn input, prints how far apart
// their outputs are: max|a-b| and that over max|b|.
const fs = require('fs'), os = require('os'), path = require('path'), { execFileSync } = require('child_process');
const ort = require('onnxruntime-node');

function writeNpy(file, data, shape) {
    let header = `{'descr': '<f4', 'fortran_order': False, 'shape': (${shape.map(n => n + ',').join(' ')}), }`;
    header = header.padEnd(Math.ceil((header.length + 11) / 64) * 64 - 11) + '\n';
    const size = Buffer.alloc(2);
    size.writeUInt16LE(header.length);
    fs.writeFileSync(file, Buffer.concat([Buffer.from('\x93NUMPY\x01\x00', 'latin1'), size, Buffer.from(header), Buffer.from(data.buffer)]));
}

const kinds = { f4: Float32Array, f8: Float64Array, f2: Uint16Array, i8: BigInt64Array, i4: Int32Array, i2: Int16Array, i1: Int8Array, u1: Uint8Array, b1: Uint8Array };
function readNpy(file) {
    const bytes = fs.readFileSync(file), start = 10 + bytes.readUInt16LE(8), header = bytes.toString('latin1', 10, start);
    const shape = header.match(/'shape': \(([^)]*)\)/)[1].split(',').filter(s => s.trim()).map(Number);
    const body = bytes.buffer.slice(bytes.byteOffset + start, bytes.byteOffset + bytes.length);
    return { shape, data: new kinds[header.match(/'descr': '.(..)'/)[1]](body) };
}

let state = 1; // a Lehmer generator: the same inputs each time
const draw = () => (state = state * 48271 % 2147483647) / 2147483647 - 0.5;

function compare(model, name, ours, theirs) {
    let worst = 0, largest = 0;
    const same = ours.shape.join() === Array.from(theirs.dims).join();
    for (let k = 0; same && k < theirs.data.length; k++) {
        worst = Math.max(worst, Math.abs(Number(ours.data[k]) - Number(theirs.data[k])));
        largest = Math.max(largest, Math.abs(Number(theirs.data[k])));
    }
    const verdict = same ? `${worst.toExponential(2)}  ${(worst / (largest || 1)).toExponential(2)}` : `shapes ${ours.shape} and ${theirs.dims}`;
    console.log(`${path.basename(model, '.onnx').padEnd(20)} ${name.padEnd(14)} ${verdict}`);
}

async function run(shunt, model) {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'peer-'));
    const session = await ort.InferenceSession.create(model, { logSeverityLevel: 4 });
    const feeds = {}, words = ['run', model, '--output-dir', dir];
    session.inputMetadata.forEach((input, i) => {
        const shape = input.shape.map(n => typeof n === 'number' ? n : 2);
        const data = Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, draw);
        feeds[input.name] = new ort.Tensor('float32', data, shape);
        writeNpy(path.join(dir, `input_${i}.npy`), data, shape);
        words.push('--input', `${input.name}=${dir}/input_${i}.npy`);
    });
    execFileSync(shunt, words);
    const results = await session.run(feeds);
    for (const name of session.outputNames) compare(model, name, readNpy(path.join(dir, name.replace(/\//g, '_') + '.npy')), results[name]);
    fs.rmSync(dir, { recursive: true });
}

(async () => { for (const model of process.argv.slice(3)) await run(process.argv[2], model); })();
