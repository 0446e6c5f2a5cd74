! A Fortran program with calls of both libraries; prints every digit.
program main
  implicit none
  integer, parameter :: n = 5
  real(8) :: a(n, n), b(n, 2), c(n, n), w(n), work(100), x
  complex(8) :: z(n, n), y(n)
  complex(8), external :: zdotc
  real(8), external :: ddot
  integer :: ipiv(n), info, i, j
  do j = 1, n
    do i = 1, n
      a(i, j) = 1d0 / (i + 2 * j - 1) + merge(3d0, 0d0, i == j)
      z(i, j) = cmplx(i, j, 8)
    end do
  end do
  b = 1d0
  y = z(:, 1)
  call dgemm('N', 'T', n, n, n, 1d0, a, n, a, n, 0d0, c, n)
  print '(5es25.17)', c
  call dsyev('V', 'U', n, c, n, w, work, 100, info)
  print '(i4/(5es25.17))', info, w
  call dgesv(n, 2, a, n, ipiv, b, n, info)
  print '(i4/(5es25.17))', info, b
  x = ddot(n, b, 1, w, 1)
  print '(3es25.17)', x, zdotc(n, y, 1, z(1, 2), n)
  a = 0
  call dgesv(n, 2, a, n, ipiv, b, n, info)
  print '(i4)', info
end program
