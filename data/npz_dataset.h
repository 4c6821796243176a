// Any images and targets in numpy's .npz files (`--dataset=archive`): the way to bring data that no
// other reader knows. `numpy.savez(file, x_train=..., y_train=..., x_test=..., y_test=...)` makes
// one.
//
//   x_train, x_test   (n, channels, height, width) float64, float32 or uint8 (then byte / 255)
//   y_train, y_test   (n,) integers: classes, from 0
//                     (n, outputs): where every row of both parts is 1 at one place and 0 at all
//                     others, classes; else values. (n,) reals: one value each
//
// The arrays stay in memory in the type they have.

#ifndef DTNN_DATA_NPZ_DATASET_H_
#define DTNN_DATA_NPZ_DATASET_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "tensor/npz.h"

namespace dtnn {

// The files of the two parts, usually the same one. An empty name leaves the part out: its size is
// 0. So is that of the test part where both names are the same and the file holds neither of its
// arrays.
struct NpzPaths {
  std::string train, test;
};

struct NpzOptions {
  // With integers as targets, how many classes there are; 0: one more than the largest of the file.
  // A file that holds a share of the data should not decide that.
  int64_t classes = 0;
  int64_t max_bytes = kMaxNpzBytes;
};

// NotFound for a missing file or array, InvalidArgument for arrays of another form, which the
// message names with their shapes and types; errors of npz.h. Values must be finite.
absl::StatusOr<std::unique_ptr<Dataset>> LoadNpzDataset(const NpzPaths& paths,
                                                        const NpzOptions& options = {});

// The same from memory; `name` stands for the path in messages.
absl::StatusOr<std::unique_ptr<Dataset>> ParseNpzDataset(std::span<const std::byte> bytes,
                                                         std::string_view name,
                                                         const NpzOptions& options = {});

}  // namespace dtnn

#endif  // DTNN_DATA_NPZ_DATASET_H_
