// Any bytes as an .npz data set: it is refused, or every sample of it can be read.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "data/datasets/npz_dataset.h"

namespace {

void ReadAll(const dtnn::Dataset& dataset, dtnn::Split split) {
  using namespace dtnn;
  for (int64_t i = 0; i < std::min<int64_t>(dataset.size(split), 1000); ++i) {
    const Tensor x = *Tensor::Zeros(DType::kFloat32,
                                    SampleShape(dataset.sample(), TensorFormat::kNHWC).Prepend(1));
    const Tensor targets =
        *Tensor::Zeros(TargetDType(dataset, DType::kFloat32), TargetShape(dataset, 1));
    const std::vector<int64_t> index = {i};
    if (!dataset.Read(split, index, TensorFormat::kNHWC, x, targets).ok()) std::abort();
    if (dataset.target_kind() == TargetKind::kValues) continue;
    const int32_t least = dataset.target_kind() == TargetKind::kPixels ? kUnlabelledPixel : 0;
    for (int64_t j = 0; j < targets.num_elements(); ++j) {
      const int32_t label = targets.data<int32_t>()[j];
      if (label < least || label >= dataset.outputs()) std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto dataset = dtnn::ParseNpzDataset(std::as_bytes(std::span(data, size)), "input",
                                             {.max_bytes = int64_t{1} << 22});
  if (!dataset.ok()) return 0;
  if ((*dataset)->size(dtnn::Split::kTrain) < 1) std::abort();
  ReadAll(**dataset, dtnn::Split::kTrain);
  ReadAll(**dataset, dtnn::Split::kTest);
  return 0;
}
