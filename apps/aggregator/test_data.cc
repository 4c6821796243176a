#include "apps/aggregator/test_data.h"

#include "comm/ranks/job/exit_code.h"
#include "data/dataset.h"
#include "models/run/federated/fit_classes.h"
#include "models/run/parts/make_trainer_options.h"
#include "models/run/parts/make_training.h"
#include "models/run/samples/make_dataset.h"
#include "tensor/errors.h"
#include "tensor/format.h"

namespace dtnn {

absl::StatusOr<TestData> TestData::Read(const RunOptions& given, const AveragedNetwork& network,
                                        ParameterStore& store, DeviceContext& context) {
  if (given.data.name.empty()) {
    return UsageError("RunOptions::data.name: missing; name the data set of the test");
  }
  RunOptions options = given;
  options.training.evaluate = options.training.evaluate_only = true;
  const Graph& graph = network.graph;
  const ImageExtents sample = ExtentsOf(graph.input_shape(), graph.format());
  DTNN_ASSIGN_OR_RETURN(std::shared_ptr<const Dataset> dataset,
                        MakeDataset(options, network.data_sample));
  DTNN_ASSIGN_OR_RETURN(dataset, FitClasses(std::move(dataset), network.classes));
  if (dataset->sample() != sample) {
    return InvalidArgument("the test data have samples of ", ToString(dataset->sample()),
                           ", the network takes ", ToString(sample));
  }
  DTNN_RETURN_IF_ERROR(CheckMetrics(network.metric_set, *dataset));
  DTNN_ASSIGN_OR_RETURN(Loaders loaders, MakeLoaders(options, dataset));
  DTNN_ASSIGN_OR_RETURN(
      std::unique_ptr<Trainer> trainer,
      Trainer::Create(graph, store, context,
                      MakeTrainerOptions(options, network.metric_set, nullptr, nullptr)));
  return TestData(std::move(loaders), std::move(trainer));
}

absl::StatusOr<NamedMetrics> TestData::Test() {
  DTNN_ASSIGN_OR_RETURN(const MetricAverages averages, trainer_->Evaluate(*loaders_.test, {}));
  return averages.Values("val_");
}

}  // namespace dtnn
