/* blas_calls.h - the calls of blas.c for one precision; the Fortran ones without prototypes, as old programs call them. */
extern void F(axpy)(), F(scal)(), F(copy)(), F(swap)(), F(rotg)(), F(gemv)(), F(gbmv)(), F(trmv)(), F(trsv)(),
    F(tbmv)(), F(tbsv)(), F(tpmv)(), F(tpsv)(), F(gemm)(), F(symm)(), F(syrk)(), F(syr2k)(), F(trmm)(),
    F(trsm)();

/* ---- level 1 */
SHOW("axpy", F(axpy)(&n, &alpha, vx, &two, vy, &back));
SHOW("cblas_axpy", C(axpy)(N, V(alpha), vx, 2, vy, -1));
SHOW("scal", F(scal)(&n, &alpha, vx, &two));
SHOW("cblas_scal", C(scal)(N, V(alpha), vx, 3));
SHOW("scal of none", F(scal)(&n, &alpha, vx, &back));
SHOW("copy", (NAN_IN(vy), F(copy)(&n, vx, &back, vy, &two)));
SHOW("cblas_copy", C(copy)(N, vx, 1, vy, 2));
SHOW("swap", F(swap)(&n, vx, &two, vy, &one));
SHOW("cblas_swap", C(swap)(N, vx, 1, vy, -2));
SHOW("rotg", F(rotg)(vx, vy, (REAL *)mb, mc));

/* ---- level 2 */
SHOW("gemv", F(gemv)("N", &n, &k, &alpha, ma, &ld, vx, &two, &beta, vy, &back, 1L));
SHOW("gemv, beta 0", (NAN_IN(vy), F(gemv)("T", &n, &k, &alpha, ma, &ld, vx, &one, &zero, vy, &one, 1L)));
SHOW("gemv, conjugated", F(gemv)("c", &n, &k, &alpha, ma, &ld, vx, &one, &beta, vy, &one, 1L));
SHOW("cblas_gemv", C(gemv)(ROW, CONJ, N, K, V(alpha), ma, LD, vx, 1, V(beta), vy, 2));
SHOW("gbmv", F(gbmv)("N", &n, &k, &one, &two, &alpha, ma, &ld, vx, &one, &beta, vy, &one, 1L));
SHOW("gbmv, transposed", F(gbmv)("T", &n, &k, &one, &two, &alpha, ma, &ld, vx, &one, &beta, vy, &one, 1L));
SHOW("cblas_gbmv", C(gbmv)(ROW, NO, N, K, 1, 2, V(alpha), ma, LD, vx, 1, V(beta), vy, 1));
SHOW("trmv", (part(ma, 1), F(trmv)("L", "T", "N", &n, ma, &ld, vx, &one, 1L, 1L, 1L)));
SHOW("cblas_trmv", (part(ma, 0), C(trmv)(ROW, LOWER, NO, UNIT, N, ma, LD, vx, 1)));
SHOW("trsv", (part(ma, 0), F(trsv)("U", "N", "N", &n, ma, &ld, vx, &back, 1L, 1L, 1L)));
SHOW("cblas_trsv", (part(ma, 0), C(trsv)(COLUMN, UPPER, CONJ, NON_UNIT, N, ma, LD, vx, 1)));
SHOW("tbmv", F(tbmv)("U", "N", "N", &n, &kd, ma, &ld, vx, &one, 1L, 1L, 1L));
SHOW("cblas_tbmv", C(tbmv)(ROW, LOWER, TRANS, UNIT, N, 2, ma, LD, vx, 1));
SHOW("tbsv", F(tbsv)("L", "N", "U", &n, &kd, ma, &ld, vx, &one, 1L, 1L, 1L));
SHOW("cblas_tbsv", C(tbsv)(COLUMN, UPPER, TRANS, UNIT, N, 2, ma, LD, vx, 1));
SHOW("tpmv", F(tpmv)("U", "T", "N", &n, ma, vx, &one, 1L, 1L, 1L));
SHOW("cblas_tpmv", C(tpmv)(ROW, UPPER, NO, NON_UNIT, N, ma, vx, 2));
SHOW("tpsv", F(tpsv)("L", "N", "U", &n, ma, vx, &one, 1L, 1L, 1L));
SHOW("cblas_tpsv", C(tpsv)(ROW, UPPER, NO, UNIT, N, ma, vx, 1));

/* ---- level 3 */
SHOW("gemm", F(gemm)("N", "T", &n, &n, &k, &alpha, ma, &ld, mb, &ld, &beta, mc, &ld, 1L, 1L));
SHOW("gemm, beta 0",
     (NAN_IN(mc), F(gemm)("T", "C", &n, &n, &k, &alpha, ma, &ld, mb, &ld, &zero, mc, &ld, 1L, 1L)));
SHOW("gemm of nothing",
     F(gemm)("N", "N", &n, &n, (const int[]){0}, &alpha, NULL, &ld, NULL, &one, &beta, mc, &ld, 1L, 1L));
SHOW("gemm in place",
     F(gemm)("N", "N", &n, &n, (const int[]){0}, &alpha, mc, &ld, mc, &ld, &beta, mc, &ld, 1L, 1L));
SHOW("cblas_gemm", C(gemm)(ROW, NO, TRANS, N, K, 5, V(alpha), ma, LD, mb, LD, V(beta), mc, LD));
SHOW("cblas_gemm by columns", C(gemm)(COLUMN, CONJ, NO, N, K, 5, V(alpha), ma, LD, mb, LD, V(zero), mc, LD));
SHOW("symm", (part(ma, 1), F(symm)("L", "L", &n, &k, &alpha, ma, &ld, mb, &ld, &beta, mc, &ld, 1L, 1L)));
SHOW("cblas_symm",
     (part(ma, 1), C(symm)(ROW, RIGHT, UPPER, K, N, V(alpha), ma, LD, mb, LD, V(zero), mc, LD)));
SHOW("syrk", (part(mc, 0), F(syrk)("U", "N", &n, &k, &alpha, ma, &ld, &beta, mc, &ld, 1L, 1L)));
SHOW("cblas_syrk", (NAN_IN(mc), C(syrk)(ROW, LOWER, TRANS, N, K, V(alpha), ma, LD, V(zero), mc, LD)));
SHOW("syr2k", (part(mc, 1), F(syr2k)("L", "T", &n, &k, &alpha, ma, &ld, mb, &ld, &beta, mc, &ld, 1L, 1L)));
SHOW("cblas_syr2k", (part(mc, 1), C(syr2k)(ROW, UPPER, NO, N, K, V(alpha), ma, LD, mb, LD, V(beta), mc, LD)));
SHOW("trmm", (part(ma, 0), F(trmm)("L", "U", "C", "U", &n, &k, &alpha, ma, &ld, mc, &ld, 1L, 1L, 1L, 1L)));
SHOW("cblas_trmm", (part(ma, 0), C(trmm)(ROW, RIGHT, LOWER, NO, NON_UNIT, K, N, V(alpha), ma, LD, mc, LD)));
SHOW("trsm", (part(ma, 1), F(trsm)("R", "L", "N", "N", &k, &n, &alpha, ma, &ld, mc, &ld, 1L, 1L, 1L, 1L)));
SHOW("cblas_trsm",
     (part(ma, 0), C(trsm)(COLUMN, LEFT, UPPER, CONJ, NON_UNIT, N, K, V(alpha), ma, LD, mc, LD)));

#ifndef COMPLEX
extern REAL F(dot)(), F(nrm2)(), F(asum)();
extern int CAT3(i, LETTER, amax_)();
extern void F(rot)(), F(rotm)(), F(rotmg)(), F(symv)(), F(sbmv)(), F(spmv)(), F(ger)(), F(syr)(), F(spr)(),
    F(syr2)(), F(spr2)();
SHOW("dot", number = F(dot)(&n, vx, &two, vy, &back));
SHOW("cblas_dot", number = C(dot)(N, vx, 1, vy, 2));
SHOW("dot, increment 0", number = F(dot)(&n, vx, (const int[]){0}, vy, &one));
SHOW("nrm2", number = F(nrm2)(&n, vx, &two));
SHOW("cblas_nrm2", number = C(nrm2)(N, vx, 2));
SHOW("asum", number = F(asum)(&n, vx, &one));
SHOW("cblas_asum", number = C(asum)(N, vx, 2));
SHOW("iamax", place = CAT3(i, LETTER, amax_)(&n, vx, &two));
SHOW("cblas_iamax", place = (int64_t)CAT3(cblas_i, LETTER, amax)(N, vx, 2));
SHOW("rot", F(rot)(&n, vx, &two, vy, &back, &cosine, &sine));
SHOW("cblas_rot", C(rot)(N, vx, 1, vy, 2, cosine, sine));
SHOW("cblas_rotg", C(rotg)(vx, vy, mb, mc));
SHOW("rotm", (mb[0] = -1, F(rotm)(&n, vx, &two, vy, &one, mb)));
SHOW("cblas_rotm", (mb[0] = 1, C(rotm)(N, vx, 1, vy, 1, mb)));
SHOW("rotmg", (ma[1] = 2, ma[2] = 3, F(rotmg)(ma + 1, ma + 2, vx, vy, mb)));
SHOW("cblas_rotmg", (ma[1] = 2, ma[2] = 3, C(rotmg)(ma + 1, ma + 2, vx, vy[0], mb)));
SHOW("symv", (part(ma, 1), F(symv)("L", &n, &alpha, ma, &ld, vx, &two, &beta, vy, &one, 1L)));
SHOW("cblas_symv", (part(ma, 1), NAN_IN(vy), C(symv)(ROW, UPPER, N, alpha, ma, LD, vx, 1, 0, vy, 1)));
SHOW("sbmv", F(sbmv)("U", &n, &kd, &alpha, ma, &ld, vx, &one, &beta, vy, &two, 1L));
SHOW("cblas_sbmv", C(sbmv)(ROW, LOWER, N, 2, alpha, ma, LD, vx, 1, beta, vy, 1));
SHOW("spmv", F(spmv)("L", &n, &alpha, ma, vx, &one, &beta, vy, &one, 1L));
SHOW("cblas_spmv", C(spmv)(ROW, UPPER, N, alpha, ma, vx, 1, beta, vy, 1));
SHOW("ger", F(ger)(&n, &k, &alpha, vx, &one, vy, &two, ma, &ld));
SHOW("cblas_ger", C(ger)(ROW, N, K, alpha, vx, 1, vy, 1, ma, LD));
SHOW("syr", (part(ma, 0), F(syr)("U", &n, &alpha, vx, &two, ma, &ld, 1L)));
SHOW("cblas_syr", (part(ma, 0), C(syr)(ROW, LOWER, N, alpha, vx, 1, ma, LD)));
SHOW("spr", F(spr)("U", &n, &alpha, vx, &one, ma, 1L));
SHOW("cblas_spr", C(spr)(ROW, UPPER, N, alpha, vx, 1, ma));
SHOW("syr2", (part(ma, 1), F(syr2)("L", &n, &alpha, vx, &one, vy, &one, ma, &ld, 1L)));
SHOW("cblas_syr2", (part(ma, 1), C(syr2)(ROW, UPPER, N, alpha, vx, 1, vy, 1, ma, LD)));
SHOW("spr2", F(spr2)("L", &n, &alpha, vx, &one, vy, &one, ma, 1L));
SHOW("cblas_spr2", C(spr2)(COLUMN, UPPER, N, alpha, vx, 1, vy, 1, ma));
#else
extern TYPE F(dotu)(), F(dotc)();
extern REAL CAT3(R_OF_C, nrm2, _)(), CAT3(R_OF_C, asum, _)();
extern int CAT3(i, LETTER, amax_)();
extern void CAT3(C_BY_R, scal, _)(), CAT3(C_BY_R, rot, _)(), F(hemv)(), F(hbmv)(), F(hpmv)(), F(geru)(),
    F(gerc)(), F(her)(), F(hpr)(), F(her2)(), F(hpr2)(), F(hemm)(), F(herk)(), F(her2k)();
SHOW("dotu", number = F(dotu)(&n, vx, &two, vy, &back));
SHOW("dotc", number = F(dotc)(&n, vx, &one, vy, &one));
SHOW("cblas_dotu_sub", CAT3(cblas_, LETTER, dotu_sub)(N, vx, 1, vy, 2, &number));
SHOW("cblas_dotc_sub", CAT3(cblas_, LETTER, dotc_sub)(N, vx, 1, vy, 2, &number));
SHOW("nrm2", number = CAT3(R_OF_C, nrm2, _)(&n, vx, &two));
SHOW("asum", number = CAT3(R_OF_C, asum, _)(&n, vx, &two));
SHOW("cblas_asum", number = CAT3(cblas_, R_OF_C, asum)(N, vx, 2));
SHOW("iamax", place = CAT3(i, LETTER, amax_)(&n, vx, &two));
SHOW("cblas_iamax", place = (int64_t)CAT3(cblas_i, LETTER, amax)(N, vx, 2));
SHOW("scal by a real", CAT3(C_BY_R, scal, _)(&n, &r_alpha, vx, &two));
SHOW("cblas_scal by a real", CAT3(cblas_, C_BY_R, scal)(N, r_alpha, vx, 2));
SHOW("rot", CAT3(C_BY_R, rot, _)(&n, vx, &two, vy, &back, &cosine, &sine));
SHOW("hemv", (part(ma, 1), F(hemv)("L", &n, &alpha, ma, &ld, vx, &two, &beta, vy, &one, 1L)));
SHOW("cblas_hemv", (part(ma, 1), C(hemv)(ROW, UPPER, N, &alpha, ma, LD, vx, 1, &beta, vy, 1)));
SHOW("hbmv", F(hbmv)("U", &n, &kd, &alpha, ma, &ld, vx, &one, &beta, vy, &two, 1L));
SHOW("cblas_hbmv", C(hbmv)(ROW, LOWER, N, 2, &alpha, ma, LD, vx, 1, &beta, vy, 1));
SHOW("hpmv", F(hpmv)("L", &n, &alpha, ma, vx, &one, &beta, vy, &one, 1L));
SHOW("cblas_hpmv", C(hpmv)(ROW, UPPER, N, &alpha, ma, vx, 1, &beta, vy, 1));
SHOW("geru", F(geru)(&n, &k, &alpha, vx, &one, vy, &two, ma, &ld));
SHOW("gerc", F(gerc)(&n, &k, &alpha, vx, &one, vy, &two, ma, &ld));
SHOW("cblas_gerc", C(gerc)(ROW, N, K, &alpha, vx, 1, vy, 1, ma, LD));
SHOW("her", (part(ma, 0), F(her)("U", &n, &r_alpha, vx, &two, ma, &ld, 1L)));
SHOW("cblas_her", (part(ma, 0), C(her)(ROW, LOWER, N, r_alpha, vx, 1, ma, LD)));
SHOW("hpr", F(hpr)("U", &n, &r_alpha, vx, &one, ma, 1L));
SHOW("cblas_hpr", C(hpr)(ROW, UPPER, N, r_alpha, vx, 1, ma));
SHOW("her2", (part(ma, 1), F(her2)("L", &n, &alpha, vx, &one, vy, &one, ma, &ld, 1L)));
SHOW("hpr2", F(hpr2)("L", &n, &alpha, vx, &one, vy, &one, ma, 1L));
SHOW("hemm", (part(ma, 1), F(hemm)("L", "L", &n, &k, &alpha, ma, &ld, mb, &ld, &beta, mc, &ld, 1L, 1L)));
SHOW("cblas_hemm", (part(ma, 1), C(hemm)(ROW, RIGHT, UPPER, K, N, &alpha, ma, LD, mb, LD, &zero, mc, LD)));
SHOW("herk", (part(mc, 0), F(herk)("U", "C", &n, &k, &r_alpha, ma, &ld, &r_beta, mc, &ld, 1L, 1L)));
SHOW("cblas_herk", (NAN_IN(mc), C(herk)(ROW, LOWER, NO, N, K, r_alpha, ma, LD, r_zero, mc, LD)));
SHOW("her2k", (part(mc, 1), F(her2k)("L", "N", &n, &k, &alpha, ma, &ld, mb, &ld, &r_beta, mc, &ld, 1L, 1L)));
SHOW("cblas_her2k", (part(mc, 1), C(her2k)(ROW, UPPER, CONJ, N, K, &alpha, ma, LD, mb, LD, r_beta, mc, LD)));
#endif
