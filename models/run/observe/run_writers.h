// What writes about a run as it continues: output.energy, output.report and output.tensorboard.

#ifndef DTNN_MODELS_RUN_OBSERVE_RUN_WRITERS_H_
#define DTNN_MODELS_RUN_OBSERVE_RUN_WRITERS_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "comm/communicator.h"
#include "kernels/device/context.h"
#include "models/observe/energy/energy_meter.h"
#include "models/observe/energy/power_log.h"
#include "models/observe/report/report_writer.h"
#include "models/observe/tensorboard/tensorboard_writer.h"
#include "models/observe/trace/profile.h"
#include "models/parameters/parameter_store.h"
#include "models/run/observe/run_subject.h"
#include "models/training/callback.h"
#include "models/training/step/metric_averages.h"
#include "models/training/trainer.h"

namespace dtnn {

class RunWriters {
 public:
  // Those that the options of `run` ask for, before training; all ranks call it together. A rank
  // that `writes` has files. Energy that nobody counts is a warning. `profile`: of the training;
  // may be null. `communicator`: null for a run of one rank. All must outlive the writers.
  absl::Status Make(const RunSubject& run, Communicator* communicator, bool writes,
                    const Profile* profile, const Trainer& trainer, const ParameterStore& store,
                    DeviceContext& context, const std::function<void(std::string_view line)>& warn);

  // In the order in which they are to be called.
  std::vector<Callback*> callbacks();
  // A line, or nothing.
  std::string EnergyReport() const { return energy_ ? energy_->Report() : ""; }
  // Mean power of training, where it is known.
  std::optional<double> watts() const { return energy_ ? energy_->watts() : std::nullopt; }
  // What a power meter has measured; empty where nobody asked for it.
  const PowerLog& power() const { return power_; }
  // The results on the test data, after training.
  absl::Status SetTest(const MetricAverages& averages);
  // How the run has ended.
  void Finish(const absl::Status& status);

 private:
  absl::Status MakeMeter(const RunOptions& options, Communicator* communicator,
                         const std::function<void(std::string_view line)>& warn);

  PowerLog power_;
  std::optional<EnergyMeter> energy_;
  std::optional<RankWaits> waits_;
  std::optional<ConfusionCounter> confusion_;
  std::optional<ReportWriter> report_;
  std::unique_ptr<TensorboardWriter> board_;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_OBSERVE_RUN_WRITERS_H_
