#include "models/plan/layer_memory.h"

#include <algorithm>
#include <cstdint>

#include "tensor/format.h"

namespace dtnn {
namespace {

// Which bytes of each buffer a layer has already been counted for.
class Claims {
 public:
  explicit Claims(const std::vector<PlannedBuffer>& buffers) : channels_(buffers.size()) {
    for (const PlannedBuffer& buffer : buffers) bytes_.push_back(buffer.bytes);
    left_ = bytes_;
  }

  // What is left of a buffer.
  size_t All(int buffer) { return buffer < 0 ? 0 : Take(buffer, left_[size_t(buffer)]); }
  // What is left of a value that has so many channels, if it has not the whole buffer.
  size_t Of(const PlannedValue& value, int64_t channels) {
    if (value.buffer < 0 || value.dense()) return All(value.buffer);
    std::vector<bool>& taken = channels_[size_t(value.buffer)];
    taken.resize(size_t(value.channels));
    size_t fresh = 0;
    for (int64_t i = 0; i < channels; ++i) {
      const size_t channel = size_t(value.first_channel + i);
      fresh += taken[channel] ? 0 : 1;
      taken[channel] = true;
    }
    return Take(value.buffer, fresh * (bytes_[size_t(value.buffer)] / size_t(value.channels)));
  }

 private:
  size_t Take(int buffer, size_t bytes) {
    size_t& left = left_[size_t(buffer)];
    bytes = std::min(bytes, left);
    left -= bytes;
    return bytes;
  }

  std::vector<size_t> bytes_, left_;         // per buffer
  std::vector<std::vector<bool>> channels_;  // likewise, those that are taken
};

}  // namespace

std::vector<LayerMemory> DescribeLayerMemory(const Graph& graph, const PlanLayout& layout) {
  const std::vector<Node>& nodes = graph.nodes();
  std::vector<LayerMemory> layers(nodes.size());
  Claims claims(layout.buffers);
  const auto claim = [&](size_t node, const PlannedValue& value) {
    const int64_t channels =
        value.dense() ? 0 : ExtentsOf(nodes[node].output, graph.format()).channels;
    return claims.Of(value, channels);
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    layers[i].id = nodes[i].id;
    layers[i].arena = claim(i, layout.activation[i]) + claims.All(layout.state[i]);
  }
  for (size_t i = nodes.size(); i-- > 0;) layers[i].arena += claim(i, layout.gradient[i]);
  return layers;
}

}  // namespace dtnn
