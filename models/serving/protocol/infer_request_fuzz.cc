// Any bytes as a request to infer, JSON and binary tensors, for a network of images of either
// format: samples as they were promised, or a Status.

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "models/serving/protocol/infer_answer.h"
#include "models/serving/protocol/input_samples.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  // The first byte: how many of the last bytes are binary data. The second: the format.
  const std::string_view body(reinterpret_cast<const char*>(data) + 2, size - 2);
  const size_t binary = std::min<size_t>(data[0], body.size());
  const auto request = dtnn::ParseInferRequest(body, body.size() - binary, {.values = 1000});
  if (!request.ok()) {
    if (request.status().message().empty()) std::abort();
    return 0;
  }
  for (const dtnn::InferInput& input : request->inputs) {
    const size_t elements = size_t(input.shape.NumElements());
    const size_t bytes = *dtnn::BytesOfDatatype(input.datatype);
    if (input.bytes ? input.bytes->size() != elements * bytes : input.values.size() != elements) {
      std::abort();
    }
  }
  (void)dtnn::AnswerForm::Of(*request);
  const auto format = data[1] % 2 == 0 ? dtnn::TensorFormat::kNHWC : dtnn::TensorFormat::kNCHW;
  const dtnn::ImageExtents extents = {2, 3, 3};
  const auto images = dtnn::ImageInput::Create({}, extents, format);
  const auto x = dtnn::SamplesOf(*request, {.sample = dtnn::SampleShape(extents, format),
                                            .format = format,
                                            .images = &*images,
                                            .max_samples = 4});
  if (x.ok() && (x->shape()[0] < 1 || x->shape()[0] > 4 || x->num_elements() % 18 != 0)) {
    std::abort();
  }
  return 0;
}
