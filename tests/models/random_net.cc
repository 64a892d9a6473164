#include "tests/models/random_net.h"

#include <vector>

#include "models/graph.h"
#include "models/inputs.h"

namespace gf {
namespace {

// Whether the file states the size of images.
bool StatesSize(const NetSource& source) {
  try {
    std::vector<GraphNode> nodes = ResolveGraph(source, TEST);
    SetInputs(1, Shape(), &nodes);
  } catch (const UserError&) {
    return false;
  }
  return true;
}

}  // namespace

RandomNet NewRandomNet(const std::string& file, const Shape& images, int64_t batch, bool fuse) {
  RandomNet random;
  random.source = ReadNet(file);
  if (!StatesSize(random.source)) random.image_shape = images;
  NetOptions options = TestOptions(TEST);
  options.batch_size = batch;
  options.image_shape = random.image_shape;
  options.reuse_memory = false;  // blobs are read
  options.fuse = fuse;
  random.net = NewNet(random.source, options);
  RandomParameters how;
  how.gamma = 1;
  how.last_norm = "branch2c";  // residual branches of deep nets stay small
  SetRandom(how, random.net->parameters().get());
  return random;
}

Shape ShapeOfBlob(const Net& net, const std::string& blob) {
  for (const NetOp& op : net.ops()) {
    for (size_t i = 0; i < op.tops.size(); ++i) {
      if (op.tops[i] == blob) return op.top_shapes[i];
    }
  }
  ThrowUserError(net.name(), ": no layer of the compiled net writes ", blob);
}

}  // namespace gf
