#include "comm/sparse/kernels.h"
#include "comm/wire/type_pair.h"

namespace gf {

const SparseFunctions& SparseFor(DType gradient, DType packed) {
  return ForTypes(Sparse(), gradient, packed);
}

}  // namespace gf
