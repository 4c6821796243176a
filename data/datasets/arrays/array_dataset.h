// Samples that a program has in memory already, such as arrays of NumPy: images are read from where
// they are, not copied.

#ifndef DTNN_DATA_DATASETS_ARRAYS_ARRAY_DATASET_H_
#define DTNN_DATA_DATASETS_ARRAYS_ARRAY_DATASET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "tensor/dtype.h"
#include "tensor/format.h"

namespace dtnn {

// One split; without samples it is empty.
struct SampleArrays {
  int64_t size = 0;
  const void* x = nullptr;                 // (size, sample), dense
  std::shared_ptr<const void> owner = {};  // of x; several threads may let go of it
  // What is to be predicted: one class per sample, or per pixel of one, where kUnlabelledPixel is
  // none, or ArrayOptions::outputs values each.
  std::vector<int32_t> classes = {};
  std::vector<double> values = {};
};

struct ArrayOptions {
  ImageExtents sample = {};
  TensorFormat format = TensorFormat::kNHWC;  // of x
  DType dtype = DType::kFloat32;              // of x: float32, float64, or uint8 (then byte / 255)
  TargetKind targets = TargetKind::kClass;
  // How many classes there are, 0: one more than the largest; or how many values a sample has.
  int64_t outputs = 0;
  std::vector<std::string> class_names = {};  // one per class, or none
  std::string name = "arrays";
};

// InvalidArgument for other dtypes, numbers of targets that do not fit, classes outside the range,
// values that are NaN or infinite; messages name x or y, the split and the sample. x must stay as
// it is.
absl::StatusOr<std::unique_ptr<Dataset>> MakeArrayDataset(SampleArrays train, SampleArrays test,
                                                          ArrayOptions options);

}  // namespace dtnn

#endif  // DTNN_DATA_DATASETS_ARRAYS_ARRAY_DATASET_H_
