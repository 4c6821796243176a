// Any images and targets in numpy's .npz files (`--dataset=archive`): for data that no other reader
// supports. `numpy.savez(file, x_train=..., y_train=..., x_test=..., y_test=...)` makes one.
//
//   x_train, x_test   (n, channels, height, width), or (n, height, width, channels) as Keras has
//                     them, float64, float32, float16 or uint8 (then byte / 255)
//   y_train, y_test   (n,) or (n, 1) integers or bools: classes, from 0
//                     (n, height, width) integers: the classes of pixels; -1, or 255 of uint8,
//                     is none
//                     (n, outputs): where every row of both splits is 1 at one place and 0 at all
//                     others, classes; else values. (n,) or (n, 1) reals: one value each
//
// Channels are last if only that is plausible: 1, 3 or 4 at the end, another number first, and
// square images, such as (n, 32, 32, 3). If only the end looks like channels, but images would not
// be square, NpzOptions must say.
//
// The arrays stay in memory in their own type.

#ifndef DTNN_DATA_DATASETS_NPZ_DATASET_H_
#define DTNN_DATA_DATASETS_NPZ_DATASET_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "tensor/files/npz.h"
#include "tensor/format.h"

namespace dtnn {

// The files of the two splits, usually the same one. A split with an empty name is not read: its
// size is 0. So is that of the test split where both names are the same and the file holds neither
// of its arrays.
struct NpzPaths {
  std::string train, test;
};

struct NpzOptions {
  // With integers as targets, how many classes there are; 0: one more than the largest of the file.
  // A file with a part of the data should not decide that. InvalidArgument for more than
  // 4096 classes of which fewer than one in 16 has a sample: such numbers are not classes.
  int64_t classes = 0;
  int64_t max_bytes = kMaxNpzBytes;
  std::optional<TensorFormat> format = {};  // of x in the file; nullopt: as its shape says
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

#endif  // DTNN_DATA_DATASETS_NPZ_DATASET_H_
