// All values, gradients and the optimizer state of a network, each in one contiguous arena.
//
// A parameter is a slice of the arenas, so an optimizer step is one pass over memory and a gradient
// exchange a few large messages. Trainable parameters come first, in node order, each aligned to 64
// bytes (the gaps hold zeros); running statistics follow, and last what is frozen. Plans for
// several batch sizes and phases share one store.

#ifndef DTNN_MODELS_PARAMETERS_PARAMETER_STORE_H_
#define DTNN_MODELS_PARAMETERS_PARAMETER_STORE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/cast/cast.h"
#include "kernels/device/context.h"
#include "kernels/update/loss_scale.h"
#include "kernels/update/update.h"
#include "models/graph/graph.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

// Bytes of each arena of a network.
struct ParameterMemory {
  size_t values = 0;
  size_t gradients = 0;  // as many again for every slot of the optimizer
};

class ParameterStore {
 public:
  // What a store would allocate, without allocating it.
  static ParameterMemory Measure(const Graph& graph, DType dtype);
  // Allocates the values on the device and fills them from the graph's initialisers and `seed`.
  static absl::StatusOr<std::unique_ptr<ParameterStore>> Create(const Graph& graph,
                                                                DeviceContext& context, DType dtype,
                                                                uint64_t seed);

  // Adds what only training needs: gradients, `slots` arenas of zeros, and for float16 a loss
  // scale. A later call, for another optimizer, allocates the slots again and keeps the rest.
  // `average_slot`: which of them is an average of the parameters.
  absl::Status AllocateForTraining(DeviceContext& context, int slots,
                                   std::optional<int> average_slot = {});
  bool has_gradients() const { return !gradients_.empty(); }
  // What gradients are multiplied by where the context computes in float16; null elsewhere.
  LossScale* loss_scale() const { return loss_scale_.get(); }

  // Parameter `index` of node `node`, as their positions in the graph.
  Tensor Value(int node, int index) const { return Slice(values_, node, index); }
  Tensor Gradient(int node, int index) const { return Slice(gradients_, node, index); }
  // The parameter's place in `arena`, which is laid out like all_values(), or, where the parameter
  // is trainable, like values(): a slot, or a copy on the host.
  Tensor Slice(const Tensor& arena, int node, int index) const;
  // Its first element there.
  int64_t Offset(int node, int index) const { return places_[size_t(node)][size_t(index)].offset; }

  // Copies of all values in a type of 16 bits, for layers that compute with it: allocated by the
  // first call, which the others must agree with, and made by RenewCopies where values other than
  // running statistics have changed since, or `anyway`. Queued on `context`.
  absl::Status KeepCopies(DeviceContext& context, DType dtype);
  absl::Status RenewCopies(bool anyway = false);
  // On a GPU, of a filter in NHWC: (out, kh, kw, in), where the value is (in, kh, kw, out)
  // (kernels/conv/filter_copies). Files, and all other readers of parameters, see values only.
  Tensor Copy(int node, int index) const;

  // The trainable part of the arenas, rank 1, gaps included; gradients: empty before
  // AllocateForTraining.
  Tensor values() const { return Trainable(values_); }
  Tensor gradients() const { return Trainable(gradients_); }
  const std::vector<Tensor>& slots() const { return slots_; }
  std::optional<int> average_slot() const { return average_slot_; }
  // The ranges of parameters of rank 1 (biases, beta, gamma) in these arenas, including the gaps
  // after them; ascending, neighbours merged.
  const std::vector<ArenaRange>& vectors() const { return vectors_; }
  // All values, for broadcasts and checkpoints.
  const Tensor& all_values() const { return values_; }
  // Only the running statistics; empty if there are none.
  Tensor statistics() const;
  // What training may change: the two together, without the parameters of frozen layers.
  Tensor unfrozen() const;

  // To be called after any change of values, so that primitives update what they derived from them.
  void MarkChanged() {
    ++version_;
    ++statistics_version_;
  }
  // The same where only running statistics have changed, as in every forward pass of training.
  void MarkStatisticsChanged() { ++statistics_version_; }
  // The version of all values but the running statistics, and that of these.
  uint64_t version() const { return version_; }
  uint64_t statistics_version() const { return statistics_version_; }

  DType dtype() const { return dtype_; }
  size_t bytes() const;

 private:
  struct Place {
    int64_t offset;  // elements
    Shape shape;
    bool filter;  // of a convolution
  };

  void PlaceParameters(const Graph& graph);
  Tensor Trainable(const Tensor& arena) const;

  std::vector<std::vector<Place>> places_;  // per node, per parameter
  std::vector<ArenaRange> vectors_;
  TensorFormat format_ = TensorFormat::kNHWC;
  DType dtype_ = DType::kFloat32;
  int64_t trainable_size_ = 0, unfrozen_size_ = 0, size_ = 0;  // elements
  Tensor values_, gradients_;
  Tensor copies_;                      // empty until they are asked for
  bool channels_last_copies_ = false;  // filters
  std::unique_ptr<Cast> cast_;
  uint64_t copied_version_ = 0;
  std::vector<Tensor> slots_;
  std::optional<int> average_slot_;
  std::unique_ptr<LossScale> loss_scale_;
  uint64_t version_ = 1, statistics_version_ = 1;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_PARAMETERS_PARAMETER_STORE_H_
