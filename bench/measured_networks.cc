#include "bench/measured_networks.h"

#include <fstream>

#include "apps/flags/value.h"
#include "apps/printing/name_lists.h"
#include "kernels/device/math_mode.h"
#include "tensor/format.h"
#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

std::vector<OptionSpec> MeasuredNetworks::Flags(bool int8) {
  using enum OptionType;
  return {
      {.name = "models",
       .type = kText,
       .help = "networks, separated by commas; --models=list shows all",
       .field = &models,
       .on_list = Action::kListModels},
      {.name = "batch",
       .type = kInt,
       .help = "samples per step",
       .unit = "samples",
       .range = {.low = 1, .high = 1e6},
       .field = &batch},
      {.name = "format",
       .type = kWord,
       .help = "order of image axes",
       .words = "NHWC,NCHW",
       .field = &format},
      {.name = "math-mode",
       .type = kWord,
       .help = int8 ? "number types to compute with; int8: inference alone, on a CPU"
                    : "number types to compute with",
       .words = int8 ? "fp32,tf32,bf16,fp16,int8" : "fp32,tf32,bf16,fp16",
       .field = &math_mode},
      {.name = "json",
       .type = kPath,
       .help = "append a JSON line per network to this file",
       .field = &json},
  };
}

absl::StatusOr<std::vector<std::string>> MeasuredNetworks::Names() const {
  std::vector<std::string> names;
  for (const std::string_view name : SplitList(models)) {
    DTNN_RETURN_IF_ERROR(CheckModelName(name, "models"));
    names.emplace_back(name);
  }
  return names;
}

ModelRunOptions MeasuredNetworks::RunOf(const std::string& model) const {
  return {.model = model,
          .batch = batch,
          .format = *ParseTensorFormat(format),
          .math_mode = ParseMathMode(math_mode).value_or(MathMode::kFp32),
          .int8 = math_mode == "int8"};
}

absl::Status MeasuredNetworks::Append(std::string_view lines) const {
  if (json.empty()) return absl::OkStatus();
  std::ofstream file(json, std::ios::app);
  file << lines;
  if (file.flush()) return absl::OkStatus();
  return absl::PermissionDeniedError(StrCat(json, ": cannot be written"));
}

}  // namespace dtnn
