// Which layers of a graph run as one op: a convolution, and after it a batch normalisation, a sum
// with what another path has computed, and a relu.
//
// A relu is always applied by the layer before it if that layer can do it (convolutions, matrix
// products, normalisations), and a sum of two by the normalisation that computes the later of them,
// in evaluation by a convolution too: the results are the same. A normalisation becomes a scale and
// a shift in the write-back of the convolution before it, in evaluation only, unless that is turned
// off: sums are then rounded differently. Layers, parameters, weight keys and training do not
// change. On a GPU, two normalisations whose outputs are added are one op in training.

#ifndef DTNN_MODELS_PLAN_FUSION_H_
#define DTNN_MODELS_PLAN_FUSION_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/graph.h"
#include "models/plan/fusions.h"

namespace dtnn {

// Indices of nodes; each but the first, and the addend, is the only reader of the one before.
struct Fusion {
  int layer = 0;
  int normalization = -1;  // -1: none
  int addition = -1;
  int addend = -1;  // its other input, which is computed before the layer
  int relu = -1;
  // The layer's op computes the addend too, a normalisation (PairsNormalizations).
  bool pair = false;
  std::vector<int> asked;  // those of them that were asked for: empty, two or three
};

// In the order of the graph. `additions`: convolutions may take sums too.
std::vector<Fusion> FindFusions(const Graph& graph, const Fusions& wanted, bool additions);

// Whether a fusion is of a sum of two normalisations that can be one op in training
// (DeviceTraits::pairs_normalizations): no others read what they read and write, both train, and so
// does something before each.
bool PairsNormalizations(const Graph& graph, const Fusion& fusion);

// The requested ones, for the start of an evaluation on a kind of device (DeviceTraits::kind):
// "001_Conv2DCPU + 002_BatchNormalizationCPU + 003_ReluCPU".
std::vector<std::string> DescribeFusions(const Graph& graph, const Fusions& wanted,
                                         std::string_view kind);

// Per node: whether the layer after it, its only reader, takes away again what is the same for all
// elements of a channel: a normalisation with the statistics of the batch, as in training where it
// is not frozen. The gradient of such a term, a bias, is 0 but for rounding.
std::vector<uint8_t> LosesConstants(const Graph& graph);

}  // namespace dtnn

#endif  // DTNN_MODELS_PLAN_FUSION_H_
