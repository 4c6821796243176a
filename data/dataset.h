// A labelled collection of images with a training and a test part, read by index in any order.
//
// One Dataset serves all loaders of a process (training, validation, test, each with its own list
// of indices), so it is immutable once made and Read may be called from several threads. An
// implementation keeps samples as the bytes they come as (a quarter of the memory of float32) and
// converts them on their way into a batch.
//
// Room for what comes later: an implementation that streams from disk reads inside Read, which the
// loader calls from a background thread; transforms (central crop, resize, flip, crop augmentation,
// normalise, in this order) wrap a Dataset and are a Dataset; targets that are not one class per
// sample (multi-hot, regression) would be a second Read beside this one.

#ifndef DTNN_DATA_DATASET_H_
#define DTNN_DATA_DATASET_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

enum class Part : uint8_t { kTrain, kTest };

// "train" or "test".
constexpr std::string_view Name(Part part) { return part == Part::kTrain ? "train" : "test"; }

class Dataset {
 public:
  virtual ~Dataset() = default;

  // As `--dataset` spells it: "mnist".
  virtual std::string_view name() const = 0;
  // The extents of every sample.
  virtual ImageExtents sample() const = 0;
  // Labels are 0 .. classes() - 1.
  virtual int64_t classes() const = 0;
  // Samples of a part.
  virtual int64_t size(Part part) const = 0;

  // Sample indices[i] becomes row i of `x` and its class labels[i]. x is dense, on the host,
  // float32 or float64, (indices.size(), sample in `format`); pixels become byte / 255. Indices may
  // repeat. OutOfRange for an index outside the part, InvalidArgument for an x or labels of another
  // shape. Allocates nothing.
  virtual absl::Status Read(Part part, std::span<const int64_t> indices, TensorFormat format,
                            const Tensor& x, std::span<int32_t> labels) const = 0;
};

// InvalidArgument or OutOfRange unless the arguments of Read fit `dataset`: for implementations.
absl::Status CheckRead(const Dataset& dataset, Part part, std::span<const int64_t> indices,
                       TensorFormat format, const Tensor& x, std::span<const int32_t> labels);

}  // namespace dtnn

#endif  // DTNN_DATA_DATASET_H_
