#include "apps/aggregator/network.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "apps/program/image_paths.h"
#include "comm/ranks/job/exit_code.h"
#include "models/graph/network.h"
#include "models/run/parts/make_model.h"
#include "models/run/parts/make_training.h"
#include "models/run/parts/model_file.h"
#include "models/run/samples/make_dataset.h"
#include "models/serving/saved_model.h"
#include "models/zoo/zoo.h"
#include "tensor/errors.h"
#include "tensor/files/array_file.h"
#include "tensor/format.h"
#include "tensor/text/counted.h"
#include "tensor/text/one_line.h"

namespace dtnn {
namespace {

// The classes as the options or a saved model say.
struct GivenClasses {
  int64_t count = 0;  // 0: not known
  std::vector<std::string> names = {};
  std::string source = {};  // of the names
};

// Names of the classes in the file of --weights-and-bias-filename, in the order of its outputs.
absl::StatusOr<std::vector<std::string>> NamesInFile(const std::string& path) {
  if (path.empty()) return std::vector<std::string>();
  DTNN_ASSIGN_OR_RETURN(ArrayFileReader file, ArrayFileReader::Open(path));
  DTNN_ASSIGN_OR_RETURN(std::optional<ModelDescription> description, FindDescription(file));
  return description ? std::move(description->class_names) : std::vector<std::string>();
}

absl::StatusOr<GivenClasses> ReadGivenClasses(const AggregatorFlags& flags) {
  const std::string& file = flags.run.network.weights;
  GivenClasses given = {.count = flags.num_classes, .source = file};
  DTNN_ASSIGN_OR_RETURN(given.names, NamesInFile(file));
  if (!flags.class_names.empty()) {
    given.source = StrCat("--class-names=", flags.class_names);
    DTNN_ASSIGN_OR_RETURN(std::vector<std::string> names,
                          WithContext(ReadClassNames(flags.class_names), "--class-names"));
    if (!given.names.empty() && given.names != names) {
      return UsageError(given.source, ": ", file,
                        " has other names, or another order; omit --class-names");
    }
    given.names = std::move(names);
  }
  if (given.names.empty()) return given;
  const auto named = int64_t(given.names.size());
  if (given.count > 0 && given.count != named) {
    return UsageError("--num-classes=", given.count, ": ", given.source, " names ",
                      Counted(named, "class", "classes"));
  }
  given.count = named;
  return given;
}

// Clients have no file and build the network by its name, so it must be what --model builds.
absl::Status CheckClientsCanBuild(const Graph& graph, const std::string& file, const Loss& loss) {
  const absl::StatusOr<Graph> built =
      BuildModel(graph.name(), {.format = graph.format(),
                                .sample = ExtentsOf(graph.input_shape(), graph.format()),
                                .classes = OutputsOf(graph),
                                .final_activation = loss.final_activation()});
  if (built.ok() && NetworkText(*built) == NetworkText(graph)) return absl::OkStatus();
  return FailedPrecondition(
      file, ": no client can build its network (--model=", OneLine(graph.name(), 80), ": ",
      built.ok() ? "has other layers or options"
                 : OneLine(std::string(built.status().message()), 200),
      "); a federation trains networks of --model=list, as they are there");
}

// The network of a saved model. Options may only agree with it.
absl::StatusOr<Graph> NetworkOfFile(const SavedModel& model, const AggregatorFlags& flags,
                                    const GivenClasses& given, const Loss& loss) {
  const Options& options = flags.run;
  std::optional<DatasetSize> data = KnownSize(options, SampleOf(model));
  if (data && data->outputs == 0) data.reset();
  DTNN_ASSIGN_OR_RETURN(Graph graph, NetworkFor(model, options, data));
  const std::string& file = options.network.weights;
  const ImageExtents sample = ExtentsOf(graph.input_shape(), graph.format());
  const std::vector<int64_t> shape = {sample.channels, sample.height, sample.width};
  if (!flags.input_shape.empty() && flags.input_shape != shape) {
    return UsageError("--input-shape=", absl::StrJoin(flags.input_shape, ","), ": the network in ",
                      file, " takes samples of ", absl::StrJoin(shape, ","));
  }
  const int64_t outputs = OutputsOf(graph);
  if (given.count > 0 && given.count != outputs) {
    return UsageError(flags.class_names.empty() ? "--num-classes=" : "--class-names: ", given.count,
                      flags.class_names.empty() ? "" : " names", ": the network in ", file, " has ",
                      Counted(outputs, "output"));
  }
  DTNN_RETURN_IF_ERROR(CheckClientsCanBuild(graph, file, loss));
  return FreezeLayers(options, std::move(graph));
}

// --model, for samples and classes as the options say.
absl::StatusOr<Graph> NetworkOfOptions(const AggregatorFlags& flags, const GivenClasses& given,
                                       const Loss& loss) {
  const Options& options = flags.run;
  const std::optional<DatasetSize> data = KnownSize(options);
  ModelOptions model = {.format = FormatOf(options), .final_activation = loss.final_activation()};
  if (data) model.sample = data->sample;
  if (data && data->outputs > 0) model.classes = data->outputs;
  if (const std::vector<int64_t>& shape = flags.input_shape; !shape.empty()) {
    model.sample = {.height = shape[1], .width = shape[2], .channels = shape[0]};
  }
  if (given.count > 0) model.classes = given.count;
  if (!options.data.name.empty() && !(model.sample && model.classes)) {
    return UsageError(
        "--dataset=", options.data.name, ": the files of clients decide its ",
        model.sample ? "" : "samples (--input-shape=CHANNELS,HEIGHT,WIDTH)",
        model.sample || model.classes ? "" : " and ",
        model.classes ? "" : "classes (--num-classes=N or --class-names=FILE)",
        ", which the aggregator does not see; give those options, or a saved model by "
        "--weights-and-bias-filename without --model");
  }
  return MakeModel(options, model);
}

}  // namespace

absl::StatusOr<AveragedNetwork> MakeAveragedNetwork(AggregatorFlags& flags) {
  Options& options = flags.run;
  if (!flags.input_shape.empty() && flags.input_shape.size() != 3) {
    return UsageError("--input-shape=", absl::StrJoin(flags.input_shape, ","),
                      ": must be three whole numbers: channels,height,width");
  }
  DTNN_ASSIGN_OR_RETURN(GivenClasses given, ReadGivenClasses(flags));
  std::optional<SavedModel> saved;
  if (options.network.name.empty()) {
    DTNN_ASSIGN_OR_RETURN(saved, ReadModelToRun(options.network.weights));
    DTNN_RETURN_IF_ERROR(FollowModel(*saved, options));
  }
  AveragedNetwork network;
  network.data_sample = SampleOf(saved);
  DTNN_ASSIGN_OR_RETURN(network.metric_set, MakeMetricSet(options));
  DTNN_ASSIGN_OR_RETURN(network.graph,
                        saved ? NetworkOfFile(*saved, flags, given, *network.metric_set.loss)
                              : NetworkOfOptions(flags, given, *network.metric_set.loss));
  network.classes = {.outputs = uint32_t(OutputsOf(network.graph)),
                     .names = std::move(given.names)};
  const absl::Status good = federation::CheckClasses(network.classes);
  if (!good.ok()) {
    return UsageError(network.classes.names.empty() ? "--num-classes" : given.source, ": ",
                      good.message());
  }
  return network;
}

}  // namespace dtnn
