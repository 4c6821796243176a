#include "models/observe/report/report_writer.h"

#include <algorithm>
#include <span>
#include <utility>

#include "tensor/files/atomic_file.h"
#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

namespace {

// Whether targets that are values are labels.
bool HasLabels(const Trainer& trainer) {
  return trainer.engine().options().metric_set.loss->final_activation() ==
         FinalActivation::kSigmoid;
}

}  // namespace

ReportWriter::ReportWriter(ReportWriterOptions options, const Trainer& trainer, const Graph& graph,
                           const ParameterStore& store)
    : options_(std::move(options)),
      trainer_(trainer),
      graph_(graph),
      store_(store),
      counter_(nullptr, graph.format()),
      wrong_images_(graph.format()),
      wrong_values_(graph.format(), HasLabels(trainer)) {
  report_.facts = options_.facts;
  report_.rates = options_.rates;
  report_.labels = HasLabels(trainer);
  report_.parameter_bytes = options_.parameter_bytes;
  report_.epochs = options_.earlier;
  for (ReportEpoch& epoch : report_.epochs) epoch.metrics = Curves(std::move(epoch.metrics));
  const MetricSet& metrics = trainer.engine().options().metric_set;
  for (const std::string& name : metrics.Names()) {
    const std::optional<Better> better = metrics.FindBetter(name);
    if (!better) continue;
    report_.better.emplace_back(name, *better);
    report_.better.emplace_back("val_" + name, *better);
  }
}

NamedMetrics ReportWriter::Curves(NamedMetrics metrics) const {
  std::erase_if(metrics, [this](const auto& named) {
    std::string_view name = named.first;
    if (name.starts_with("val_")) name.remove_prefix(4);
    return std::ranges::any_of(trainer_.engine().options().metric_set.metrics,
                               [&](const auto& metric) {
                                 return metric->name() == name && metric->Format("", 0).empty();
                               });
  });
  return metrics;
}

absl::Status ReportWriter::OnPassBegin(const Pass& pass) {
  if (pass.kind == Pass::Kind::kTraining) {
    report_.epochs_wanted = pass.epochs;
    epoch_ = {.epoch = pass.epoch + 1};
    speed_.Begin(pass);
  }
  if (pass.kind == Pass::Kind::kValidation) {
    wrong_images_.Clear();
    wrong_values_.Clear();
  }
  return counter_.OnPassBegin(pass);
}

absl::Status ReportWriter::OnBatchEnd(const Pass& pass) {
  const bool validates = pass.kind == Pass::Kind::kValidation && pass.batch != nullptr;
  if (validates && pass.predictions->shape().rank() == 2) {  // not of pixels
    DTNN_RETURN_IF_ERROR(wrong_images_.Add(*pass.batch, *pass.predictions));
    DTNN_RETURN_IF_ERROR(wrong_values_.Add(*pass.batch, *pass.predictions));
    report_.outputs = pass.predictions->shape()[1];
  }
  return options_.confusion == nullptr ? counter_.OnBatchEnd(pass) : absl::OkStatus();
}

absl::Status ReportWriter::OnPassEnd(const Pass& pass) {
  if (pass.kind != Pass::Kind::kTraining) return absl::OkStatus();
  speed_.End(pass);
  epoch_.seconds = speed_.seconds();
  epoch_.samples_per_second = speed_.samples_per_second();
  return absl::OkStatus();
}

void ReportWriter::AddProfile() {
  if (options_.profile == nullptr) return;
  const StepEngine& engine = trainer_.engine();
  const std::vector<std::string> algorithms = engine.TrainingAlgorithms();
  const std::vector<LayerMemory> memory = engine.TrainingMemoryByLayer();
  report_.profile =
      MakeReport(*options_.profile,
                 DescribeLayers(graph_, store_, {.algorithms = algorithms, .memory = memory}),
                 MachineSpeed(), {}, options_.watts ? options_.watts() : std::nullopt);
  const ActivitySeconds now = SumActivities(*options_.profile);
  report_.last_epoch = now - report_.activities;
  report_.activities = now;
}

void ReportWriter::AddMemory() {
  const PlanLayout* const layout = trainer_.engine().training_layout();
  if (layout == nullptr || !report_.buffers.empty()) return;
  report_.buffers = DescribeBuffers(graph_, *layout);
  report_.moments = 2 * int(graph_.nodes().size()) + 2;
  report_.memory = *trainer_.engine().training_memory();
}

absl::Status ReportWriter::OnEpochEnd(const Pass& training, const Pass* validation) {
  epoch_.metrics = Curves(MetricsOf(training, validation));
  report_.tables =
      validation != nullptr ? validation->averages->Report("val_") : training.averages->Report("");
  epoch_.learning_rate = trainer_.engine().learning_rate();
  const auto joules = options_.joules ? options_.joules() : std::nullopt;
  if (joules && speed_.samples() > 0) {
    epoch_.joules = *joules;
    epoch_.joules_per_sample = *joules / double(speed_.samples());
  }
  std::optional<double> norm = trainer_.engine().mean_gradient_norm();
  if (!norm) {
    DTNN_ASSIGN_OR_RETURN(norm, trainer_.engine().MeasureGradientNorm());
  }
  epoch_.gradient_norm = norm.value_or(ReportEpoch::kUnknown);
  report_.epochs.push_back(epoch_);
  report_.confusion = (options_.confusion == nullptr ? counter_ : *options_.confusion).confusion();
  report_.wrong_images = wrong_images_.images();
  report_.wrong_values = wrong_values_.samples();
  if (options_.ranks != nullptr) report_.ranks = options_.ranks->ranks();
  AddProfile();
  AddMemory();
  Write();
  return absl::OkStatus();
}

void ReportWriter::Write() {
  const std::string page = FormatRunReport(report_);
  const absl::Status status =
      WriteFileAtomically(options_.path, std::as_bytes(std::span(std::string_view(page))));
  if (status.ok() || std::exchange(warned_, true) || !options_.warn) return;
  options_.warn(StrCat("the report is not written: ", status.message(), "; training continues"));
}

void ReportWriter::Finish(const absl::Status& status) {
  report_.state = status.ok() ? ReportState::kDone : ReportState::kFailed;
  report_.end = std::string(status.message());
  Write();
}

}  // namespace dtnn
