% 100 seeded matrix calls, printed with every digit.
rand ("seed", 7); randn ("seed", 7);
format long
for i = 1:100
  n = 1 + floor (9 * rand ()); m = 1 + floor (9 * rand ());
  a = randn (n, m); s = a * a' + eye (n); z = randn (n) + 1i * randn (n);
  switch floor (12 * rand ())
    case 0, r = a * a';
    case 1, r = a' * a;
    case 2, r = s \ a;
    case 3, r = chol (s);
    case 4, r = svd (a);
    case 5, r = eig (s);
    case 6, r = eig (z);
    case 7, [q, r] = qr (a);
    case 8, r = det (s);
    case 9, r = inv (z);
    case 10, r = single (a) * single (a)';
    otherwise, r = pinv (a);
  endswitch
  disp (num2hex (double (real (r(:)))));
endfor
try
  chol (-1);
catch e
  disp (e.message);
end_try_catch
disp (ones (2) * ones (2));
