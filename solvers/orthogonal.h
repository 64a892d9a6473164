#pragma once

#include <cstdint>
#include <memory>

namespace gf {

// Of a weight tensor as a matrix.
struct MatrixSize {
  int64_t rows = 0;     // outputs
  int64_t columns = 0;  // all other axes
  int64_t shorter() const { return rows < columns ? rows : columns; }
  int64_t longer() const { return rows < columns ? columns : rows; }
};

// The factor of a matrix's learning rate with rate MATCH_ADAMW or ORIGINAL (MuonConfig).
double MuonRate(const MatrixSize& size, bool match_adamw);

// Newton-Schulz iterations on the CPU, on the compute threads. Keeps its memory between calls.
class Orthogonalizer {
 public:
  // Moves the singular values of x, which are at most 1, close to 1: `iterations` times
  //   x = a x + (b g + c g g) x  with the Gram matrix g = x transposed(x)
  // and, for a matrix with more rows than columns, the same of the transposed matrix. x: FP32, rows
  // after each other. The last bits depend on the processor and the number of threads.
  void Run(const MatrixSize& size, int iterations, float* x);

 private:
  // At least `count` floats.
  struct Room {
    float* Get(int64_t count);
    std::unique_ptr<float[]> data;
    int64_t count = 0;
  };
  Room gram_, polynomial_, next_;
};

}  // namespace gf
