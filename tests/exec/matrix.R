# 100 seeded matrix calls, printed with every digit.
set.seed(7)
options(digits = 17)
for (i in 1:100) {
  n <- sample(1:9, 1)
  m <- sample(1:9, 1)
  a <- matrix(rnorm(n * m), n)
  s <- crossprod(matrix(rnorm(n * n), n)) + diag(n)
  z <- matrix(complex(real = rnorm(n * n), imaginary = rnorm(n * n)), n)
  print(switch(sample(12, 1),
    a %*% t(a), crossprod(a), tcrossprod(a), solve(s, a), chol(s), svd(a), eigen(s), eigen(a %*% t(a) + 1i),
    qr.coef(qr(s), rnorm(n)), det(s), chol2inv(chol(s)), solve(z)))
}
# A singular matrix: R's error leaves LAPACK's caller by longjmp; the next call works.
for (i in 1:3) {
  print(tryCatch(solve(matrix(0, 2, 2)), error = function(e) "singular"))
  print(tryCatch(chol(matrix(-1, 1, 1)), error = function(e) "not positive"))
  print(diag(2) %*% diag(2))
}
