#include "core/cuda/items_inline.h"
#include "layers/cuda/concat_kernels.h"

namespace gf {
namespace {

// The unit that a thread moves at once.
template <int kBytes>
struct alignas(kBytes) Unit {
  uint16_t v[kBytes / 2];
};

template <typename U>
struct UnitPieces {
  struct Piece {
    U* data;
    int64_t begin;
    FastDivide units;
  };

  ItemGroups groups;  // groups of rows, sized for the longest piece
  int64_t row_units;
  U* rows;
  Piece pieces[RowPieces::kMost];
};

// blockIdx.y is the group of rows, blockIdx.z the piece.
template <typename U, bool kJoin>
__global__ void __launch_bounds__(kThreads) MovePiecesKernel(UnitPieces<U> p) {
  const typename UnitPieces<U>::Piece piece = p.pieces[blockIdx.z];
  const int64_t first = blockIdx.y * p.groups.rows_of_group;
  const int64_t rows = min(p.groups.rows_of_group, p.groups.rows - first);
  const uint32_t count = static_cast<uint32_t>(rows) * piece.units.divisor();
  U* const own = piece.data + first * piece.units.divisor();
  U* const joined = p.rows + first * p.row_units + piece.begin;
  const auto place = [&](uint32_t i) {
    const FastDivide::Result at = piece.units.Divide(i);
    return joined + at.quotient * p.row_units + at.remainder;
  };
  // Loads several units before it stores the first, which hides memory latency.
  constexpr int kAhead = 4;
  const uint32_t step = gridDim.x * blockDim.x;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += kAhead * step) {
    U units[kAhead];
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      if (i + k * step < count) units[k] = kJoin ? own[i + k * step] : *place(i + k * step);
    }
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      if (i + k * step < count) (kJoin ? *place(i + k * step) : own[i + k * step]) = units[k];
    }
  }
}

template <int kBytes, bool kJoin>
void MoveUnits(const RowPieces& from, void* rows, cudaStream_t stream) {
  using U = Unit<kBytes>;
  UnitPieces<U> p = {};
  unsigned count = 0;
  int64_t longest = 0;
  for (int i = 0; i < from.count; ++i) {
    const RowPieces::Piece& piece = from.pieces[i];
    if (piece.data == nullptr || piece.bytes == 0) continue;
    const int64_t units = piece.bytes / kBytes;
    longest = std::max(longest, units);
    p.pieces[count++] = {static_cast<U*>(piece.data), piece.begin / kBytes,
                         FastDivide(static_cast<uint32_t>(units))};
  }
  if (count == 0 || from.rows == 0) return;
  p.groups = GroupsOf(from.rows, longest);
  p.row_units = from.row_bytes / kBytes;
  p.rows = static_cast<U*>(rows);
  const dim3 blocks(BlocksFor(p.groups.rows_of_group * longest / 4),
                    static_cast<unsigned>(p.groups.count()), count);
  Launch({blocks, kThreads, stream}, MovePiecesKernel<U, kJoin>, p);
}

template <bool kJoin>
void Move(const RowPieces& pieces, void* rows, cudaStream_t stream) {
  uint64_t all = reinterpret_cast<uintptr_t>(rows) | pieces.row_bytes;
  for (int i = 0; i < pieces.count; ++i) {
    const RowPieces::Piece& piece = pieces.pieces[i];
    all |= reinterpret_cast<uintptr_t>(piece.data) | piece.begin | piece.bytes;
  }
  if (all % 16 == 0) return MoveUnits<16, kJoin>(pieces, rows, stream);
  if (all % 8 == 0) return MoveUnits<8, kJoin>(pieces, rows, stream);
  if (all % 4 == 0) return MoveUnits<4, kJoin>(pieces, rows, stream);
  MoveUnits<2, kJoin>(pieces, rows, stream);
}

}  // namespace

void JoinRows(const RowPieces& pieces, void* rows, cudaStream_t stream) {
  Move<true>(pieces, rows, stream);
}

void SplitRows(const RowPieces& pieces, const void* rows, cudaStream_t stream) {
  Move<false>(pieces, const_cast<void*>(rows), stream);
}

}  // namespace gf
