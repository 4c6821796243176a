// The memory of a training step as a picture: each buffer a rectangle, from left to right the
// moments of the step at which it is in use, from bottom to top its place in the arena.

#ifndef DTNN_MODELS_OBSERVE_REPORT_MEMORY_PICTURE_H_
#define DTNN_MODELS_OBSERVE_REPORT_MEMORY_PICTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "models/graph/graph.h"
#include "models/observe/report/charts/html.h"
#include "models/observe/report/charts/svg.h"
#include "models/plan/plan_layout.h"

namespace dtnn {

struct MemoryBuffer {
  enum class Kind : uint8_t { kActivation, kGradient, kState };
  std::string name = {};  // of the layer that writes it first
  Kind kind = Kind::kActivation;
  double bytes = 0, offset = 0;
  int first = 0, last = 0;  // moments, as plan_layout.h counts them
};

// In the order of their first use.
std::vector<MemoryBuffer> DescribeBuffers(const Graph& graph, const PlanLayout& layout);

// `id` of the picture; `moments`: 2 * nodes + 2. Draws the 1500 largest.
SvgPicture DrawMemory(std::string_view id, const std::vector<MemoryBuffer>& buffers, int moments);
// The `most` largest.
HtmlTable LargestBuffers(const std::vector<MemoryBuffer>& buffers, size_t most);

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_REPORT_MEMORY_PICTURE_H_
