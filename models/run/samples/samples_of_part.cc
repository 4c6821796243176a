#include "models/run/samples/samples_of_part.h"

#include <utility>

#include "data/loading/division/division.h"
#include "data/loading/division/part.h"
#include "data/loading/split.h"
#include "models/run/options/dataset_division.h"
#include "tensor/errors.h"
#include "tensor/status_macros.h"

namespace dtnn {

absl::StatusOr<std::vector<int64_t>> SamplesOfPart(const RunOptions& options,
                                                   const Dataset& dataset) {
  const int64_t samples = dataset.size(Split::kTrain);
  DTNN_ASSIGN_OR_RETURN(const DatasetPart part, DatasetPartOf(options));
  if (part.parts == 1) return AllIndices(samples);
  DTNN_ASSIGN_OR_RETURN(const Division division, DivisionOf(options));
  if (division.kind == DivisionKind::kEqual) return PartOfSamples(samples, part.part, part.parts);
  DTNN_ASSIGN_OR_RETURN(
      auto all,
      WithContext(DivideSamples(division, samples, dataset.labels(Split::kTrain), part.parts),
                  "RunOptions::data.part=", options.data.part));
  std::vector<int64_t> mine = std::move(all[size_t(part.part - 1)]);
  if (!mine.empty()) return mine;
  return InvalidArgument("RunOptions::data.part=", options.data.part, ": this part has no samples");
}

}  // namespace dtnn
