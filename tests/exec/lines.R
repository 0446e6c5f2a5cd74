# The line is known to programs.sh.
f <- function(a) {
  b <- a + 1
  a %*% b
}
invisible(f(diag(3)))
