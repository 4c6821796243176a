// Which layers of a graph run as one op: a convolution, a batch normalisation after it, a relu
// after either.
//
// A relu is always applied by the layer before it if that layer can do it (convolutions, matrix
// products, normalisations): the results are the same. A normalisation becomes a scale and a shift
// in the write-back of the convolution before it only in evaluation, and only on request, because
// sums are then rounded differently. Layers, parameters, weight keys and training do not change.

#ifndef DTNN_MODELS_PLAN_FUSION_H_
#define DTNN_MODELS_PLAN_FUSION_H_

#include <string>
#include <vector>

#include "models/graph/graph.h"

namespace dtnn {

// Requested fusions (--enable-fused-...). conv_bn_relu has priority over conv_bn.
struct Fusions {
  bool conv_bn = false;
  bool conv_bn_relu = false;
  bool conv_relu = false;
  bool bn_relu = false;
  friend bool operator==(const Fusions&, const Fusions&) = default;
};

// Indices of nodes; each but the first is the only reader of the one before.
struct Fusion {
  int layer = 0;
  int normalization = -1;  // -1: none
  int relu = -1;
  std::vector<int> asked;  // those of them that were asked for: empty, two or three
};

// In the order of the graph.
std::vector<Fusion> FindFusions(const Graph& graph, const Fusions& wanted);

// The requested ones, for the start of an evaluation on the CPU: "001_Conv2DCPU +
// 002_BatchNormalizationCPU + 003_ReluCPU".
std::vector<std::string> DescribeFusions(const Graph& graph, const Fusions& wanted);

}  // namespace dtnn

#endif  // DTNN_MODELS_PLAN_FUSION_H_
