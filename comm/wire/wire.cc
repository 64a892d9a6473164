#include "comm/wire/type_pair.h"
#include "comm/wire/wire_kernels.h"

namespace gf {

const WireFunctions& WireFor(DType own, DType wire) { return ForTypes(Wires(), own, wire); }

}  // namespace gf
