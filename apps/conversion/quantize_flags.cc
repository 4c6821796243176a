#include "apps/conversion/quantize_flags.h"

#include "apps/flags/option_table.h"
#include "apps/flags/tool_flags.h"

namespace dtnn {

std::vector<OptionSpec> OptionsOf(QuantizeFlags& options) {
  using enum OptionType;
  return {
      {.name = "calibrate",
       .type = kText,
       .help = "samples to find ranges with: a data set (training samples; accuracy is measured on "
               "test samples) or a folder of images; list shows the data sets",
       .field = &options.calibrate,
       .on_list = Action::kListDatasets},
      LikeLauncher("dataset-path", &options.dataset_path,
                   "folder or archive of the data set's files, as benchmark takes it"),
      {.name = "samples",
       .type = kInt,
       .help = "samples to find ranges with; some hundreds are enough",
       .unit = "samples",
       .range = kCountFrom1,
       .field = &options.samples},
      {.name = "method",
       .type = kWord,
       .help = "minmax: ranges hold all values; percentile: all but one of 10000 at each end; "
               "entropy: those with the least divergence between the distributions of values "
               "before and after",
       .words = "minmax,percentile,entropy",
       .field = &options.method},
      {.name = "largest-error",
       .type = kReal,
       .help = "a layer whose results differ by more in 8 bits stays in float32",
       .unit = "fraction",
       .range = {.low = 0, .high = 1e6},
       .field = &options.largest_error},
      {.name = "test-samples",
       .type = kInt,
       .help = "samples of the data set on which accuracy and speed are measured; 0: all",
       .unit = "samples",
       .range = kCountFrom0,
       .field = &options.test_samples},
      LikeLauncher("batch-size", &options.batch,
                   "samples per batch; larger batches are faster and need more memory"),
  };
}

}  // namespace dtnn
