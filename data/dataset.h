// A collection of images and targets, with a training and a test split; random access by index.
//
// One Dataset serves all loaders of a process (training, validation, test, each with its own list
// of indices), so it is immutable once made and Read may be called from several threads. An
// implementation keeps samples as the bytes they come as (a quarter of the memory of float32) and
// converts them on their way into a batch.
//
// What is to be predicted, the targets, is one class per sample, int32 (n,), or several values per
// sample (labels that are not mutually exclusive, measured quantities), (n, outputs) of the
// samples' dtype, or one class per pixel, int32 (n, height, width), where a pixel without a label
// has kUnlabelledPixel. An implementation that streams from disk reads inside Read, which loaders
// call from background threads.

#ifndef DTNN_DATA_DATASET_H_
#define DTNN_DATA_DATASET_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "data/preprocessing.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

enum class Split : uint8_t { kTrain, kTest };

// "train" or "test".
constexpr std::string_view Name(Split split) { return split == Split::kTrain ? "train" : "test"; }

// Samples that are cheap to read together, because they lie in one compressed file: group g is
// [begins[g], begins[g + 1]), the last one reaches to the end of the split. A sampler shuffles the
// groups, then the samples of `at_once` groups among each other, as many as memory holds.
struct SampleGroups {
  std::vector<int64_t> begins;  // ascending from 0; empty where any order costs the same
  int64_t at_once = 1;
};

enum class TargetKind : uint8_t { kClass, kValues, kPixels };

// "classes", "values" or "classes of pixels".
constexpr std::string_view Name(TargetKind kind) {
  return kind == TargetKind::kClass
             ? "classes"
             : (kind == TargetKind::kValues ? "values" : "classes of pixels");
}

inline constexpr int32_t kUnlabelledPixel = -1;

class Dataset {
 public:
  virtual ~Dataset() = default;

  // As `--dataset` spells it: "mnist".
  virtual std::string_view name() const = 0;
  // The extents of every sample.
  virtual ImageExtents sample() const = 0;
  // What a network for these data gives per sample: as many probabilities as there are classes
  // (targets are 0 .. outputs() - 1), or as many values.
  virtual int64_t outputs() const = 0;
  virtual TargetKind target_kind() const { return TargetKind::kClass; }
  // Whether the number of classes was derived from the largest label: other ranks may have more.
  virtual bool counts_classes() const { return false; }
  // The meaning of the outputs, one name each; empty if not known.
  virtual std::vector<std::string> class_names() const { return {}; }
  // Whether the names decide which class has which number, as those of folders do. False where the
  // files number the classes and the names are only displayed: they may change between two runs.
  virtual bool names_number_classes() const { return true; }
  // Samples of a split.
  virtual int64_t size(Split split) const = 0;
  // The class of every sample of a split, where that is known without reading samples; else empty.
  virtual std::vector<int32_t> labels(Split) const { return {}; }
  virtual SampleGroups groups(Split) const { return {}; }
  // How Read converts images to values, for files of models; loaders may do more after it. By
  // default images are neither cropped nor resized.
  virtual Preprocessing preprocessing() const { return {.geometry = ImageGeometry{}}; }
  // Where Read gives the bytes of samples too: their format, in which it costs nothing. The value
  // of a byte is then byte / 255. nullopt: samples are not bytes, or Read computes with them.
  virtual std::optional<TensorFormat> byte_format() const { return std::nullopt; }
  // Warnings about the files, a line each, such as files that were skipped.
  virtual std::vector<std::string> warnings() const { return {}; }
  // Whether Read takes long, as decoding images does, so that several threads should read ahead.
  virtual bool decodes() const { return false; }

  // Sample indices[i] becomes row i of `x` and what is to be predicted of it row i of `targets`. x
  // is dense, on the host, float32 or float64, (indices.size(), sample in `format`); pixels become
  // byte / 255, or stay bytes where x is uint8 and `format` is byte_format(). targets: int32
  // (indices.size(),), with height and width for pixels, or (indices.size(), outputs()) of x's
  // dtype, beside bytes float32 or float64, by target_kind(). Indices may repeat. OutOfRange for an
  // index outside the split, InvalidArgument for tensors of another shape. Data that are in memory
  // are read without allocating.
  virtual absl::Status Read(Split split, std::span<const int64_t> indices, TensorFormat format,
                            const Tensor& x, const Tensor& targets) const = 0;
};

// The shape of the targets of n samples, and their dtype for samples of `dtype`.
Shape TargetShape(const Dataset& dataset, int64_t n);
DType TargetDType(const Dataset& dataset, DType dtype);

// InvalidArgument or OutOfRange unless the arguments of Read fit `dataset`: for implementations.
absl::Status CheckRead(const Dataset& dataset, Split split, std::span<const int64_t> indices,
                       TensorFormat format, const Tensor& x, const Tensor& targets);

}  // namespace dtnn

#endif  // DTNN_DATA_DATASET_H_
