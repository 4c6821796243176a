#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_join.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/transport/tcp/socket.h"
#include "models/run/checks/check_options.h"
#include "models/run/checks/check_outputs.h"
#include "models/run/checks/check_together.h"
#include "models/run/options/dataset_division.h"
#include "models/run/options/option_members.h"
#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

struct Word {
  std::string_view member;
  const std::string& value;
  std::vector<const char*> words;
};

absl::Status CheckWords(const RunOptions& o) {
  if (const DType dtype = ElementTypeOf(o); WordFor(dtype).empty()) {
    return UsageError("RunOptions::network.dtype=", Name(dtype), ": must be float32 or float64");
  }
  const Word words[] = {
      {"network.format", o.network.format, {"", "AUTO", "NHWC", "NCHW"}},
      {"network.weights_format", o.network.weights_format, {"auto", "NHWC", "NCHW"}},
      {"data.synthetic.pattern", o.data.synthetic.pattern, {"zeros", "classes"}},
      {"device.gpu_device", o.device.gpu_device, {"cuda", "simulated"}},
      {"sync.compression", o.sync.compression, {"none", "fp16", "bf16"}},
      {"encryption.kind", o.encryption.kind, {"", "masked", "tenseal", "openfhe"}},
      {"encryption.security_level", o.encryption.security_level, {"0", "128", "192", "256"}},
  };
  for (const auto& [member, value, known] : words) {
    if (std::ranges::find(known, value) != known.end()) continue;
    std::vector<std::string> named;  // an empty text is a member that is not set
    std::ranges::copy_if(known, std::back_inserter(named),
                         [](const char* word) { return *word != 0; });
    return UsageError("RunOptions::", member, "=", value,
                      ": must be one of: ", absl::StrJoin(named, ", "));
  }
  return absl::OkStatus();
}

absl::Status CheckBatchAndShapes(const RunOptions& o) {
  if (o.training.batch && o.training.global_batch) {
    return UsageError("RunOptions::training.batch=", *o.training.batch,
                      " and RunOptions::training.global_batch=", *o.training.global_batch,
                      ": cannot be used together; give one of them");
  }
  const GeneratedDataOptions& synthetic = o.data.synthetic;
  if (synthetic.input_shape.size() != 3) {
    return UsageError(
        "RunOptions::data.synthetic.input_shape=", absl::StrJoin(synthetic.input_shape, ","),
        ": must be three whole numbers: channels,height,width");
  }
  if (synthetic.output_shape.size() != 1) {
    return UsageError(
        "RunOptions::data.synthetic.output_shape=", absl::StrJoin(synthetic.output_shape, ","),
        ": must be one whole number, the number of classes");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckRunOptions(const RunOptions& options) {
  DTNN_RETURN_IF_ERROR(CheckWords(options));
  DTNN_RETURN_IF_ERROR(CheckRanges(options));
  DTNN_RETURN_IF_ERROR(CheckBatchAndShapes(options));
  DTNN_RETURN_IF_ERROR(BucketBytes(options).status());
  DTNN_RETURN_IF_ERROR(DatasetPartOf(options).status());
  DTNN_RETURN_IF_ERROR(DivisionOf(options).status());
  DTNN_RETURN_IF_ERROR(ClassWeightsOf(options).status());
  if (const std::string& address = options.ranks.rendezvous; !address.empty()) {
    DTNN_RETURN_IF_ERROR(OfFlag(ParseEndpoint(address), "RunOptions::ranks.rendezvous").status());
  }
  DTNN_RETURN_IF_ERROR(CheckTogether(options));
  return CheckOutputs(options);
}

}  // namespace dtnn
