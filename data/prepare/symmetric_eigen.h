#pragma once

#include <vector>

namespace gf {

// Eigenvalues in descending order, and their orthonormal eigenvectors: element i of vector k is
// vectors[k * n + i]. The element of largest magnitude of each vector, of equal ones the first, is
// positive.
struct SymmetricEigen {
  std::vector<double> values;   // [n]
  std::vector<double> vectors;  // [n][n]
};

// The decomposition of a symmetric matrix [n][n], whose numbers are finite, by cyclic Jacobi
// rotations (Golub and Van Loan, "Matrix Computations", 4th ed., section 8.5), up to the rounding
// of double. Takes about 10 n^3 rotations of numbers. One thread; the same bits on every run.
SymmetricEigen DecomposeSymmetric(std::vector<double> matrix, int n);

}  // namespace gf
