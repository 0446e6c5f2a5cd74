/* commands.c - the table of subcommands. One file each; one line here. */
#include "cli/cli.h"

const cli_command cli_commands[] = {
    {"run", "runs an ONNX model, under modes if you like",
     "usage: shunt run MODEL [--input [NAME=]FILE]... [--seed N] [--mode SPEC]... [--swap A=B[,WHERE]]...\n"
     "                       [--hook PLUGIN.so[,OPTION]...]... [--backend NAME] [--compile] [--repeat N] [--output-dir DIR]\n"
     "                       [--json FILE]\n\n"
     "Prints name, dtype, shape, min, mean and max of each output.\n\n"
     "  --input [NAME=]FILE  a .npy file or an ONNX TensorProto (.pb); the name may be left out where there is one input\n"
     "  --seed N             seeds the inputs that are not given, uniform in [0, 1); default 0\n"
     "  --mode SPEC          pushes a mode; the last one given sees a call first (`shunt modes` lists them)\n"
     "  --swap A=B[,WHERE]   short for --mode swap:from=A,to=B[,WHERE]\n"
     "  --hook PLUGIN.so[,OPTION]...\n"
     "                       loads a plug-in: its kernels, ops, modes, devices and backends; the last given wins. Options say\n"
     "                       where its kernels are used (dtype=f32, numel=65536.., shape=[*,64], ops=, scope=, call=) and how\n"
     "                       far they are trusted: policy=[verify:first=10,then=1/100;fallback] compares calls with ref,\n"
     "                       takes out a kernel that is wrong (a finding), and runs the next one where a kernel fails\n"
     "  --backend NAME       cpu (default) or ref, plain loops with double accumulation\n"
     "  --compile            compiles the model under the modes first, and tells on stderr what was compiled and which modes\n"
     "                       went in; those that can't keep seeing the ops that they want\n"
     "  --repeat N           runs N times and prints the median time to stderr\n"
     "  --output-dir DIR     writes DIR/NAME.npy for each output, each / in a name replaced by _\n"
     "  --json FILE          outputs and findings as JSON; - is stdout, which then holds nothing else\n\n"
     "In the environment: SHUNT_HOOK=a.so,OPTION:b.so, SHUNT_MODES and SHUNT_BACKEND are the twins of these options;\n"
     "SHUNT_VERBOSE=dispatch says for each call which kernels there were and why one was taken, SHUNT_VERBOSE=crash names the\n"
     "calls in flight when the process crashes; dispatch,crash is both.\n\n"
     "example: shunt run face.onnx --swap relu=sin --mode nancheck:inf=1\n"
     "         shunt run face.onnx --hook './mine.so,dtype=f32,policy=[verify:first=5]'\n"
     "Exit code 1 says that a mode found something.\n",
     cli_run},
    {"bench", "measures how long a model takes, eagerly and compiled",
     "usage: shunt bench MODEL [--compile] [--threads N] [--rounds N] [--input [NAME=]FILE]... [--seed N] [--mode SPEC]...\n"
     "                         [--swap A=B[,WHERE]]... [--hook PLUGIN.so[,OPTION]...]... [--backend NAME] [--json FILE]\n\n"
     "Prints median, shortest and longest time of a run in ms, the most memory that a process takes that loads the model\n"
     "and runs it ten times, and the ratio to eager: the median over rounds in which both take turns.\n\n"
     "  --compile            compiled, too; else only eagerly\n"
     "  --threads N          how many threads compute; default as OMP_NUM_THREADS says, or all cores\n"
     "  --rounds N           how many rounds; default 25. A round of a small model is many runs\n"
     "  --input, --seed, --mode, --swap, --hook, --backend\n"
     "                       as for `shunt run`; both ways run under the modes\n"
     "  --json FILE          the same for programs, times in seconds, memory in bytes; - is stdout, which then holds nothing else\n\n"
     "example: shunt bench face.onnx --compile --threads 1\n"
     "         shunt bench face.onnx --compile --swap relu=sin --json -\n",
     cli_bench},
    {"graph", "prints or draws a model as a graph",
     "usage: shunt graph MODEL [--format FORM] [--full] [--around NODE [--depth N]] [--color WHAT] [-o FILE]\n"
     "                         [--hook PLUGIN.so[,OPTION]...]...\n"
     "       shunt graph --plan MODEL [--input [NAME=]FILE]... [--mode SPEC]... [--swap A=B[,WHERE]]... [--backend NAME] [-o FILE]\n\n"
     "  --format text        as torch.fx prints it, the default\n"
     "  --format table       opcode, name, target, args, kwargs; --tabular for short\n"
     "  --format readable    a line each with dtype and shape\n"
     "  --format code        a C function that does the same\n"
     "  --format dot, svg    a picture, for Graphviz or drawn by it; --dot, --svg for short\n"
     "  --format plan        what it is compiled to for these inputs (drawn where none is given, open sizes taken as 1) under these\n"
     "                       modes: steps, layouts, buffers, the most memory; --plan for short\n\n"
     "Pictures of more than 80 nodes are folded: a box for each scope, or for what repeats itself.\n\n"
     "  --full               every node\n"
     "  --around NODE        only what is near this node; stubs show where it goes on\n"
     "  --depth N            how many arrows away that is; default 2\n"
     "  --color WHAT         opcode (default), dtype of the results, or time: the mean of 5 runs on random inputs\n"
     "  -o FILE              where it goes; default standard output\n\n"
     "example: shunt graph face.onnx --format svg --color time -o face.svg\n",
     cli_graph},
    {"ops", "lists ops with schema, tags and kernels",
     "usage: shunt ops [FILTER] [--check] [--json] [--hook PLUGIN.so[,OPTION]...]...\n\n"
     "FILTER is a glob on names; | is or, a leading ! is not.\n\n"
     "  --check  checks that each op keeps what it declares (what it writes and shares, shapes, ref against cpu, layouts,\n"
     "           graphs, threads) on random arguments; exit code 1 says that one does not\n"
     "  --json   the same for programs\n\n"
     "example: shunt ops 'conv*|*pool2d'\n",
     cli_ops},
    {"modes", "lists the modes, or explains a specification",
     "usage: shunt modes [--explain SPEC] [--hook PLUGIN.so[,OPTION]...]...\n\n"
     "Without --explain: every mode with its options. SPEC is name:key=value,key=value; several are separated by `;`, the\n"
     "last sees a call first. Values with , : or ; stand in [...] or quotes.\n\n"
     "example: shunt modes --explain 'swap:from=relu,to=sin;log:ops=conv*'\n",
     cli_modes},
    {"exec", "runs a program that you can't change, under modes on its BLAS and LAPACK calls",
     "usage: shunt exec [OPTION]... [--] PROGRAM [ARGUMENT]...\n\n"
     "Preloads a library that shows each BLAS call and LAPACK driver of PROGRAM (NumPy, R, Octave, Fortran, C) to modes, as ops\n"
     "blas::gemm, lapack::gesv, ... on the program's own memory. Its input, output, signals and exit status stay its own.\n\n"
     "  --mode SPEC          pushes a mode; the last one given sees a call first (`shunt modes` lists them)\n"
     "  --swap A=B[,WHERE]   short for --mode swap:from=A,to=B[,WHERE]\n"
     "  --hook PLUGIN.so[,OPTION]...\n"
     "                       a plug-in with kernels, ops or modes, and where its kernels are used and how far they are trusted\n"
     "                       (`shunt help run`); may be repeated. SHUNT_HOOK=a.so,OPTION:b.so is the same\n"
     "  --backend NAME       where the calls run; cpu (default) is the program's own library\n"
     "  --nested             shows also the BLAS calls that LAPACK makes\n"
     "  --fail-on KINDS      nan, inf, mismatch, separated by commas: such a finding makes the exit status 1 if it was 0\n"
     "  --out FILE           where reports go that name no file; %p is the process id; default stderr\n"
     "  --json FILE          what each process found, as a line of JSON when it ends\n"
     "  --strict             what can't be obeyed stops the program (status 2)\n"
     "  --verbose WHAT       dispatch: for each call which kernels there were and why one was taken; crash: the calls in\n"
     "                       flight when the program crashes; dispatch,crash: both. SHUNT_VERBOSE is the same\n\n"
     "example: shunt exec --mode profile --mode nancheck:inf=1,stop=warn -- python3 solve.py\n"
     "         shunt exec --hook './mine.so,numel=65536..,policy=[verify:first=3]' --fail-on mismatch -- python3 solve.py\n"
     "Exit code 126 says that PROGRAM can't be run, 127 that there is none; 2 and 4 may be shunt's own, any other is its.\n",
     cli_exec},
    {"doctor", "says what this machine and environment give",
     "usage: shunt doctor\n\nCPU features, libraries found, environment variables in force.\n", cli_doctor},
    {"help", "tells about a command", "usage: shunt help [COMMAND]\n", cli_help},
    {NULL, NULL, NULL, NULL},
};
