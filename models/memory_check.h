#pragma once

#include "models/compiled_net.h"

namespace gf {

// Throw UserError that names the largest layer if a net cannot fit into the host's memory, before
// anything is allocated. A GPU says itself when it is full, and a device on paper never is.

// Once shapes are known: parameters with their gradients, and single blobs.
void CheckShapesFit(const CompiledNet& net, const NetOptions& options, const Device& device);

// Once buffers are placed: all activations.
void CheckArenaFits(const CompiledNet& net, const NetOptions& options, const Device& device);

// Instead of both, for a plan, which may be larger than any memory: throws UserError that names a
// layer whose extents libraries cannot count.
void CheckCountable(const CompiledNet& net);

}  // namespace gf
