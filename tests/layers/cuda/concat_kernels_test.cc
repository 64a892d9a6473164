// Rows put together and taken apart on the GPU.
#include "layers/cuda/concat_kernels.h"

#include <numeric>

#include "tests/layers/cuda/kernel_test.h"

namespace gf {
namespace {

class ConcatKernelsTest : public KernelTest {
 protected:
  // Bytes of one address, which is a multiple of 256 bytes but for `shift`.
  struct Memory {
    std::shared_ptr<void> owner;
    int64_t shift = 0, bytes = 0;
    uint8_t* data() const { return static_cast<uint8_t*>(owner.get()) + shift; }
  };
  Memory NewMemory(int64_t bytes, int64_t shift, uint8_t seed) const {
    std::vector<uint8_t> values(shift + bytes);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<uint8_t>(Philox(seed, 6, i)[0]);
    }
    return {Put(values.data(), values.size()), shift, bytes};
  }
  std::vector<uint8_t> Bytes(const Memory& memory) const {
    std::vector<uint8_t> bytes(memory.bytes);
    device_->CopyToHost(memory.data(), bytes.data(), memory.bytes, device_->compute_stream());
    return bytes;
  }

  // Pieces of these bytes, the one with number `left_out` left out; each second one's address, or
  // only that of the rows, is shifted.
  void Check(int64_t rows, const std::vector<int64_t>& sizes, int64_t shift, int left_out = -1) {
    CheckShifted(rows, sizes, shift, 0, left_out);
    CheckShifted(rows, sizes, 0, shift, left_out);
  }
  void CheckShifted(int64_t rows, const std::vector<int64_t>& sizes, int64_t shift,
                    int64_t piece_shift, int left_out) {
    const int64_t row = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
    const Memory joined = NewMemory(rows * row, shift, 1);
    std::vector<Memory> parts;
    RowPieces pieces;
    pieces.rows = rows;
    pieces.row_bytes = row;
    int64_t begin = 0;
    for (size_t i = 0; i < sizes.size(); begin += sizes[i++]) {
      parts.push_back(NewMemory(rows * sizes[i], i % 2 * piece_shift, static_cast<uint8_t>(2 + i)));
      const bool out = static_cast<int>(i) == left_out;
      pieces.pieces[pieces.count++] = {out ? nullptr : parts.back().data(), begin, sizes[i]};
    }
    const auto cut = [&](const std::vector<uint8_t>& whole, size_t i) {
      std::vector<uint8_t> bytes;
      for (int64_t r = 0; r < rows; ++r) {
        const auto from = whole.begin() + r * row + pieces.pieces[i].begin;
        bytes.insert(bytes.end(), from, from + sizes[i]);
      }
      return bytes;
    };
    const std::vector<uint8_t> before = Bytes(joined);
    JoinRows(pieces, joined.data(), stream());
    const std::vector<uint8_t> after = Bytes(joined);
    for (size_t i = 0; i < sizes.size(); ++i) {
      const bool out = static_cast<int>(i) == left_out;
      EXPECT_EQ(cut(after, i), out ? cut(before, i) : Bytes(parts[i])) << "piece " << i;
    }
    const Memory other = NewMemory(rows * row, shift, 99);
    const std::vector<uint8_t> rows_of_other = Bytes(other);
    const auto kept = left_out < 0 ? std::vector<uint8_t>() : Bytes(parts[left_out]);
    SplitRows(pieces, other.data(), stream());
    for (size_t i = 0; i < sizes.size(); ++i) {
      const bool out = static_cast<int>(i) == left_out;
      EXPECT_EQ(Bytes(parts[i]), out ? kept : cut(rows_of_other, i)) << "piece " << i;
    }
    EXPECT_EQ(Bytes(other), rows_of_other);
  }
};

TEST_P(ConcatKernelsTest, PiecesOfAnySizeAtAnyAddress) {
  const auto element = static_cast<int64_t>(SizeOf(GetParam()));
  for (const std::vector<int64_t>& elements :
       {std::vector<int64_t>{64, 128, 32, 8}, {4, 12}, {2, 6, 2}, {3, 1, 5, 7}, {17}}) {
    std::vector<int64_t> bytes;
    for (int64_t e : elements) bytes.push_back(e * element);
    for (int64_t shift : {int64_t{0}, int64_t{8}, element}) {
      Check(1, bytes, shift);
      Check(37, bytes, shift);
      Check(5, bytes, shift, 0);
    }
  }
  Check(3, std::vector<int64_t>(RowPieces::kMost, 6 * element), 0, RowPieces::kMost - 1);
}

TEST_P(ConcatKernelsTest, ManyRowsAndLongOnes) {
  Check(9001, {32, 96, 16}, 0);
  Check(2, {int64_t{1} << 16, 48, int64_t{3} << 14}, 0);
}

TEST_P(ConcatKernelsTest, LargeTensorsAreProcessedInGroups) {
  const ItemsOfGroup items(64);
  Check(37, {64, 128, 16}, 0);
  Check(40, {6, 10, 2}, 2);
}

GF_FOR_EVERY_TYPE(ConcatKernelsTest);

}  // namespace
}  // namespace gf
