#pragma once

#include <cstdint>

namespace gf {

// Makes the `rank` columns of [rank][rows] orthonormal, in order (Gram-Schmidt in double, each
// column twice). A column that depends on earlier ones becomes 0. Returns false, and fills all with
// NaN, if a number is not finite. The same bits on every processor.
bool MakeOrthonormal(float* columns, int64_t rows, int rank);

// Gives each column of [rank][rows] the norm 1; columns of zeros, or that are not finite, become
// random ones. `first_column`: number of the first among all columns of the net.
void NormalizeColumns(float* columns, int64_t rows, int rank, int64_t step, int64_t first_column);

}  // namespace gf
