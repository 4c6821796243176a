// A data set without files, to time training or to test it: samples are computed when they are
// read, so any number of any size costs no memory.

#ifndef DTNN_DATA_DATASETS_SYNTHETIC_H_
#define DTNN_DATA_DATASETS_SYNTHETIC_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "data/dataset.h"

namespace dtnn {

enum class SyntheticPattern : uint8_t {
  // Every value and every label is 0: nothing to learn, and nearly free to read.
  kZeros,
  // Sample i is of class i mod classes: that class's random picture of 4 x 4 tiles and noise of its
  // own, half and half. Any working network learns this within a few steps. Both splits have the
  // same images without noise, so a network that learns one also predicts the other.
  kClasses,
};

struct SyntheticOptions {
  int64_t train_samples = 1000;
  int64_t test_samples = 100;
  ImageExtents sample = {.height = 32, .width = 32, .channels = 3};
  int64_t classes = 10;
  SyntheticPattern pattern = SyntheticPattern::kZeros;
  uint64_t seed = 0;  // of kClasses
};

// InvalidArgument for impossible numbers.
absl::StatusOr<std::unique_ptr<Dataset>> MakeSynthetic(const SyntheticOptions& options);

}  // namespace dtnn

#endif  // DTNN_DATA_DATASETS_SYNTHETIC_H_
