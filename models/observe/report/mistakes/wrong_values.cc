#include "models/observe/report/mistakes/wrong_values.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "data/images/thumbnail.h"
#include "data/loading/batch_values.h"
#include "models/observe/report/charts/html.h"
#include "models/observe/report/mistakes/confusion.h"
#include "models/observe/report/mistakes/wrong_images.h"
#include "tensor/dtype.h"
#include "tensor/status_macros.h"
#include "tensor/text/counted.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

using Output = WrongValues::Output;

double Deviation(const Output& output) { return std::abs(output.predicted - output.truth); }

bool IsWrongLabel(const Output& output) {
  return (output.predicted >= 0.5) != (output.truth >= 0.5);
}

// Its wrong outputs and how wrong it is; no outputs: it is right, or not finite.
WrongValues Judge(std::vector<Output> outputs, bool labels) {
  WrongValues sample;
  double sum = 0;
  for (const Output& output : outputs) sum += Deviation(output);
  if (outputs.empty() || !std::isfinite(sum)) return sample;
  const double mean = sum / double(outputs.size());
  std::ranges::stable_sort(outputs, std::greater(), Deviation);
  if (labels) {
    std::erase_if(outputs, std::not_fn(IsWrongLabel));
    sample.score = double(outputs.size()) + std::min(mean, 1.0) / 2;  // among equal counts
  } else {
    outputs.resize(1);
    sample.score = Deviation(outputs[0]);
    if (sample.score == 0) outputs.clear();
  }
  sample.outputs = std::move(outputs);
  return sample;
}

std::string WordsOfLabels(const WrongValues& sample, int64_t outputs,
                          std::span<const std::string> names) {
  constexpr size_t kMostNamed = 3;
  std::vector<std::string> named;
  for (const Output& label : sample.outputs) {
    if (named.size() == kMostNamed) break;
    named.push_back(StrCat(ClassLabel(label.index, names), " with ",
                           absl::StrFormat("%.1f %%", 100 * label.predicted),
                           label.truth >= 0.5 ? " is there" : " is not there"));
  }
  const size_t more = sample.outputs.size() - named.size();
  return StrCat(sample.outputs.size(), " of ", Counted(outputs, "label"),
                " wrong: ", absl::StrJoin(named, ", "),
                more == 0 ? std::string() : StrCat(", and ", more, " more"));
}

std::string WordsOfQuantity(const WrongValues& sample, int64_t outputs,
                            std::span<const std::string> names) {
  const Output& worst = sample.outputs[0];
  return StrCat(
      outputs == 1 ? std::string() : StrCat("Output ", ClassLabel(worst.index, names), ": "),
      "predicted ", RoundNumber(worst.predicted), ", is ", RoundNumber(worst.truth), " (off by ",
      RoundNumber(Deviation(worst)), ")");
}

}  // namespace

absl::Status WrongValuesFinder::Add(const Batch& batch, const Tensor& predictions) {
  if (batch.targets.dtype() == DType::kInt32) return absl::OkStatus();
  const bool images = batch.bytes != nullptr || HoldsImages(batch.x);
  const int64_t outputs = predictions.shape()[1];
  return DispatchFloating(predictions.dtype(), [&]<typename P>(P) {
    return DispatchFloating(batch.targets.dtype(), [&]<typename T>(T) -> absl::Status {
      for (int64_t i = 0; i < batch.x.shape()[0]; ++i) {
        const P* const p = predictions.data<P>() + i * predictions.RowPitch();
        const T* const t = batch.targets.data<T>() + i * batch.targets.RowPitch();
        std::vector<Output> all;
        for (int64_t k = 0; k < outputs; ++k) all.push_back({k, double(p[k]), double(t[k])});
        WrongValues sample = Judge(std::move(all), labels_);
        const bool full = samples_.size() == most_;
        if (sample.outputs.empty() || (full && sample.score <= samples_.back().score)) continue;
        if (images) {
          DTNN_ASSIGN_OR_RETURN(const Tensor x, ValuesOf(batch, i, 1));
          sample.image = Thumbnail(x, 0, format_, WrongImages::kMostPixels);
        }
        if (full) samples_.pop_back();
        const auto place =
            std::ranges::upper_bound(samples_, sample.score, std::greater(), &WrongValues::score);
        samples_.insert(place, std::move(sample));
      }
      return absl::OkStatus();
    });
  });
}

std::string FormatWrongValues(std::span<const WrongValues> samples, bool labels, int64_t outputs,
                              std::span<const std::string> names) {
  std::string html = "<div class=\"images\">\n";
  for (const WrongValues& sample : samples) {
    html += FormatFigure(sample.image, labels ? WordsOfLabels(sample, outputs, names)
                                              : WordsOfQuantity(sample, outputs, names));
  }
  return html + "</div>\n";
}

}  // namespace dtnn
