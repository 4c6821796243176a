#include "models/observe/tensorboard/tensorboard_writer.h"

#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/formats/tf_record.h"
#include "data/images/image.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/observe/tensorboard/event.pb.h"
#include "models/observe/tensorboard/graph_def.h"
#include "models/testing/training_session.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

using ::dtnn::testing::PatternMlp;
using ::dtnn::testing::TrainingSession;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::string Folder(const std::string& name) {
  const std::string folder = ::testing::TempDir() + "/" + name;
  std::filesystem::remove_all(folder);
  return folder;
}

std::vector<std::string> FilesOf(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

// What TensorBoard would show of a run: events in the order of the files' names, those from a
// session's first step on forgotten when it starts.
struct Shown {
  std::map<std::string, std::map<int64_t, double>> scalars;
  std::map<std::string, std::map<int64_t, tensorboard::TensorContent>> tensors;
  std::map<std::string, std::string> plugins;  // by tag
  std::map<std::string, std::string> contents;
  tensorboard::GraphDef graph;

  explicit Shown(const std::string& folder) {
    for (const std::string& path : FilesOf(folder)) {
      auto reader = TfRecordReader::Open(path);
      EXPECT_TRUE(reader.ok()) << reader.status();
      std::vector<uint8_t> record;
      for (;;) {
        const auto more = reader->Next(record);
        EXPECT_TRUE(more.ok()) << more.status();
        if (!more.ok() || !*more) break;
        tensorboard::Event event;
        EXPECT_TRUE(event.ParseFromArray(record.data(), int(record.size())));
        Take(event);
      }
    }
  }

  void Take(const tensorboard::Event& event) {
    if (event.has_session_log() && event.session_log().status() == 1) {
      for (auto& [tag, points] : scalars)
        points.erase(points.lower_bound(event.step()), points.end());
      for (auto& [tag, points] : tensors)
        points.erase(points.lower_bound(event.step()), points.end());
    }
    if (event.what_case() == tensorboard::Event::kGraphDef) {
      EXPECT_TRUE(graph.ParseFromString(event.graph_def()));
    }
    for (const auto& value : event.summary().value()) {
      plugins.emplace(value.tag(), value.metadata().plugin_data().plugin_name());
      contents.emplace(value.tag(), value.metadata().plugin_data().content());
      if (value.value_case() == tensorboard::Summary::Value::kSimpleValue) {
        EXPECT_TRUE(scalars[value.tag()].emplace(event.step(), value.simple_value()).second)
            << value.tag() << " twice at " << event.step();
      } else {
        tensors[value.tag()][event.step()] = value.tensor();
      }
    }
  }
};

struct Watched {
  explicit Watched(const std::string& folder, bool validates = true,
                   const Graph& network = PatternMlp())
      : graph(network), session(graph) {
    auto created = TensorboardWriter::Create(
        {.folder = folder,
         .hyperparameters = {{"optimizer", "sgd"}, {"rate", 0.05}, {"nesterov", false}},
         .text = "a | b",
         .validates = validates,
         .joules = [this] { return joules; },
         .warn = [this](std::string_view line) { warnings.emplace_back(line); }},
        *session.trainer, graph, *session.store, *session.device);
    EXPECT_TRUE(created.ok()) << created.status();
    if (created.ok()) writer = *std::move(created);
  }

  const Graph graph;
  TrainingSession session;
  std::vector<std::string> warnings;
  std::optional<double> joules;
  std::unique_ptr<TensorboardWriter> writer;
};

// All of which are trained.
int Parameters(const Graph& graph) {
  int count = 0;
  for (const Node& node : graph.nodes()) count += int(node.parameters.size());
  return count;
}

// "weights (30, 24), biases (24,)": of a layer with both.
std::string ParametersOf(const Node& node) {
  EXPECT_EQ(node.parameters.size(), 2u);
  return "weights " + node.parameters[0].shape.ToString() + ", biases " +
         node.parameters[1].shape.ToString();
}

TEST(TensorboardWriterTest, ScalarsAreThoseOfTheRun) {
  const std::string folder = Folder("scalars");
  Watched run(folder);
  ASSERT_TRUE(run.session.Train(3, {run.writer.get()}).ok());
  EXPECT_THAT(run.warnings, IsEmpty());
  const Shown train(folder + "/train"), validation(folder + "/validation");
  const auto& losses = train.scalars.at("categorical_cross_entropy");
  const auto& validated = validation.scalars.at("categorical_cross_entropy");
  ASSERT_THAT(losses, SizeIs(3));
  ASSERT_THAT(validated, SizeIs(3));
  for (int64_t epoch = 1; epoch <= 3; ++epoch) {
    EXPECT_EQ(losses.at(epoch), double(float(run.session.record.losses[size_t(epoch - 1)])));
    EXPECT_EQ(validated.at(epoch),
              double(float(run.session.record.validation_losses[size_t(epoch - 1)])));
    EXPECT_EQ(train.scalars.at("learning_rate").at(epoch), double(0.05f));
    EXPECT_GT(train.scalars.at("samples_per_second").at(epoch), 0);
    EXPECT_GT(train.scalars.at("gradient_norm_of_last_update").at(epoch), 0);
  }
  EXPECT_EQ(train.plugins.at("categorical_accuracy"), "scalars");
  EXPECT_THAT(validation.scalars, Not(Contains(Key("learning_rate"))));
}

TEST(TensorboardWriterTest, ResultsOnTheTestDataStandAtTheLastEpoch) {
  const std::string folder = Folder("tested");
  Watched run(folder);
  ASSERT_TRUE(run.session.Train(2, {run.writer.get()}).ok());
  ASSERT_TRUE(run.writer->AddTest({{"test_loss", 0.5}, {"test_accuracy", 75}}).ok());
  EXPECT_THAT(run.warnings, IsEmpty());
  const Shown train(folder + "/train");
  EXPECT_THAT(train.scalars.at("test_loss"), ElementsAre(std::pair(2, 0.5)));
  EXPECT_THAT(train.scalars.at("test_accuracy"), ElementsAre(std::pair(2, 75)));
  EXPECT_EQ(train.plugins.at("test_loss"), "scalars");
}

TEST(TensorboardWriterTest, EnergyIsThereWhereItIsKnown) {
  for (const bool known : {false, true}) {
    const std::string folder = Folder("energy");
    Watched run(folder);
    if (known) run.joules = 12.5;
    ASSERT_TRUE(run.session.Train(1, {run.writer.get()}).ok());
    const Shown train(folder + "/train");
    ASSERT_EQ(train.scalars.contains("joules"), known);
    if (known) {
      EXPECT_EQ(train.scalars.at("joules").at(1), 12.5);
    }
  }
}

TEST(TensorboardWriterTest, FrozenLayersHaveNoGradients) {
  const std::string folder = Folder("frozen");
  const Graph graph = PatternMlp();
  const auto first = std::ranges::find_if(
      graph.nodes(), [](const Node& node) { return node.layer->type_name() == "FC"; });
  const std::string name = first->name;
  const int frozen[] = {int(first - graph.nodes().begin())};
  Watched run(folder, /*validates=*/true, graph.Frozen(frozen));
  ASSERT_TRUE(run.session.Train(1, {run.writer.get()}).ok());
  const Shown train(folder + "/train");
  EXPECT_TRUE(train.tensors.contains("parameters/" + name + "/weights"));
  EXPECT_FALSE(train.tensors.contains("gradients/" + name + "/weights"));
  EXPECT_TRUE(std::ranges::any_of(train.tensors, [](const auto& entry) {
    return entry.first.starts_with("gradients/");
  })) << "of the layer behind it";
}

TEST(TensorboardWriterTest, HistogramsCountEveryParameter) {
  const std::string folder = Folder("histograms");
  Watched run(folder);
  ASSERT_TRUE(run.session.Train(2, {run.writer.get()}).ok());
  const Shown train(folder + "/train");
  int histograms = 0;
  for (const auto& [tag, points] : train.tensors) {
    if (train.plugins.at(tag) != "histograms") continue;
    ++histograms;
    ASSERT_THAT(points, SizeIs(2)) << tag;
    for (const auto& [step, tensor] : points) {
      EXPECT_EQ(tensor.dtype(), 2);
      EXPECT_EQ(tensor.shape().dim(0).size(), 30);
      EXPECT_EQ(tensor.shape().dim(1).size(), 3);
      double count = 0;
      for (int i = 2; i < tensor.double_val_size(); i += 3) count += tensor.double_val(i);
      if (tag == "parameters/2_FC/weights") {
        EXPECT_EQ(count, double(run.session.store->Value(2, 0).num_elements()));
      }
      EXPECT_GT(count, 0) << tag;
    }
  }
  EXPECT_EQ(histograms, 2 * Parameters(run.graph)) << "values and gradients";
}

TEST(TensorboardWriterTest, TheFirstValidationShowsSomeOfItsSamples) {
  const std::string folder = Folder("images");
  Watched run(folder);
  ASSERT_TRUE(run.session.Train(2, {run.writer.get()}).ok());
  const Shown validation(folder + "/validation");
  EXPECT_EQ(validation.plugins.at("samples"), "images");
  const auto& steps = validation.tensors.at("samples");
  ASSERT_THAT(steps, SizeIs(1)) << "they stay the same";
  const tensorboard::TensorContent& tensor = steps.at(1);
  EXPECT_EQ(tensor.dtype(), 7);
  EXPECT_EQ(tensor.shape().dim(0).size(), tensor.string_val_size());
  ASSERT_GE(tensor.string_val_size(), 3);
  EXPECT_LE(tensor.string_val_size(), 2 + 12);
  for (int i = 2; i < tensor.string_val_size(); ++i) {
    const std::string& png = tensor.string_val(i);
    const auto image =
        DecodeImage(std::span(reinterpret_cast<const uint8_t*>(png.data()), png.size()), "sample");
    ASSERT_TRUE(image.ok()) << image.status();
    EXPECT_EQ(StrCat(image->extents.width), tensor.string_val(0));
    EXPECT_EQ(StrCat(image->extents.height), tensor.string_val(1));
    EXPECT_EQ(image->extents.height, run.graph.input_shape()[0]);
  }
}

// As on a full disk: an epoch is missing, and nothing is half there.
TEST(TensorboardWriterTest, AFullDiskIsOneWarningAndTheFilesStayReadable) {
  const std::string folder = Folder("full");
  Watched run(folder);
  ASSERT_TRUE(run.session.Train(1, {run.writer.get()}).ok());
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit = {.rlim_cur = 100, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const absl::Status full = run.session.Train(3, {run.writer.get()});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old);
  EXPECT_TRUE(full.ok()) << full;
  ASSERT_THAT(run.warnings, SizeIs(1));
  EXPECT_THAT(run.warnings[0], StartsWith("TensorBoard's files miss an epoch: " + folder));
  ASSERT_TRUE(run.session.Train(4, {run.writer.get()}).ok());
  const Shown shown(folder + "/train");
  EXPECT_THAT(shown.scalars.at("categorical_cross_entropy"), ElementsAre(Key(1), Key(4)));
}

// A batch of bytes without a table of what becomes of them.
TEST(TensorboardWriterTest, ImagesThatCannotBeShownAreOneWarning) {
  Watched run(Folder("no_images"));
  Batch batch;
  batch.x = *Tensor::Zeros(DType::kUint8, Shape{1, 2, 2, 1});
  batch.count = 1;
  batch.bytes = std::make_shared<ByteImagesSpec>();
  for (const Pass::Kind other : {Pass::Kind::kTraining, Pass::Kind::kTest}) {
    EXPECT_EQ(run.writer->OnBatchEnd({.kind = other, .batch = &batch}), absl::OkStatus());
    EXPECT_THAT(run.warnings, SizeIs(0)) << "these are not shown";
  }
  const Pass pass = {.kind = Pass::Kind::kValidation, .batch = &batch};
  EXPECT_EQ(run.writer->OnBatchEnd(pass), absl::OkStatus());
  ASSERT_THAT(run.warnings, SizeIs(1));
  EXPECT_THAT(run.warnings[0], StartsWith("TensorBoard's files miss the images: "));
}

TEST(TensorboardWriterTest, TheNetworkAndTheOptionsAreThere) {
  const std::string folder = Folder("graph");
  Watched run(folder, /*validates=*/false);
  const Shown train(folder + "/train");
  ASSERT_EQ(size_t(train.graph.node_size()), run.graph.nodes().size());
  EXPECT_EQ(train.graph.node(2).name(), "2_FC");
  EXPECT_EQ(train.graph.node(2).op(), "FC");
  EXPECT_THAT(train.graph.node(2).input(), ElementsAre(train.graph.node(1).name()));
  EXPECT_EQ(train.graph.node(2).attr().at("parameters").s(), ParametersOf(run.graph.nodes()[2]));
  EXPECT_FALSE(train.graph.node(0).attr().contains("parameters"));
  const auto& shapes = train.graph.node(2).attr().at("_output_shapes").list();
  EXPECT_EQ(shapes.shape(0).dim(0).size(), -1);
  EXPECT_EQ(train.plugins.at("run/text_summary"), "text");
  EXPECT_EQ(train.tensors.at("run/text_summary").at(0).string_val(0), "a | b");
  tensorboard::HparamsPluginData data;
  ASSERT_TRUE(data.ParseFromString(train.contents.at("_hparams_/session_start_info")));
  const auto& parameters = data.session_start_info().hparams();
  EXPECT_EQ(parameters.at("optimizer").string_value(), "sgd");
  EXPECT_EQ(parameters.at("rate").number_value(), 0.05);
  EXPECT_EQ(parameters.at("nesterov").kind_case(), tensorboard::HparamsValue::kBoolValue);
  EXPECT_FALSE(std::filesystem::exists(folder + "/validation"));
}

TEST(TensorboardWriterTest, AFolderOfAFolderThatIsMissingIsAMistake) {
  const std::string folder = Folder("none");
  EXPECT_EQ(CheckTensorboardFolder(folder + "/adam").message(),
            folder +
                "/adam: is not a folder and cannot be created: No such file or directory; "
                "make " +
                folder + " first, or correct the path");
  EXPECT_FALSE(std::filesystem::exists(folder));
}

// A run that was lost after epoch 4 and had saved epoch 2.
TEST(TensorboardWriterTest, ARunThatContinuesDoesNotOverlap) {
  const std::string folder = Folder("resumed");
  {
    Watched run(folder);
    ASSERT_TRUE(run.session.Train(4, {run.writer.get()}).ok());
  }
  TrainingSession saved(PatternMlp());
  ASSERT_TRUE(saved.Train(2).ok());
  const Graph graph = PatternMlp();
  TrainingSession resumed(graph);
  ASSERT_TRUE(resumed.trainer->PrepareForTraining(resumed.training->max_batch()).ok());
  const auto state = saved.trainer->State();
  ASSERT_TRUE(state.ok()) << state.status();
  ASSERT_TRUE(resumed.trainer->Restore(*state).ok());
  dtnn::testing::CopyParameters(saved, resumed);
  auto writer = TensorboardWriter::Create({.folder = folder, .validates = true}, *resumed.trainer,
                                          graph, *resumed.store, *resumed.device);
  ASSERT_TRUE(writer.ok()) << writer.status();
  EXPECT_THAT(FilesOf(folder + "/train"), SizeIs(2));
  EXPECT_THAT(Shown(folder + "/train").scalars.at("categorical_cross_entropy"), SizeIs(2))
      << "what came after the checkpoint is forgotten";
  ASSERT_TRUE(resumed.Train(5, {writer->get()}).ok());
  EXPECT_THAT(Shown(folder + "/train").scalars.at("categorical_cross_entropy"), SizeIs(5));
  EXPECT_THAT(Shown(folder + "/validation").scalars.at("categorical_accuracy"), SizeIs(5));
}

TEST(TensorboardWriterTest, TrainingIsNotDisturbed) {
  Watched run(Folder("same"));
  ASSERT_TRUE(run.session.Train(3, {run.writer.get()}).ok());
  TrainingSession plain(PatternMlp());
  ASSERT_TRUE(plain.Train(3).ok());
  EXPECT_EQ(run.session.record.losses, plain.record.losses);
}

// With TensorBoard itself, where DTNN_TENSORBOARD_PYTHON names a Python that has it.
TEST(TensorboardWriterTest, TensorBoardReadsIt) {
  const char* const python = std::getenv("DTNN_TENSORBOARD_PYTHON");
  if (python == nullptr) GTEST_SKIP() << "DTNN_TENSORBOARD_PYTHON names no Python with tensorboard";
  const std::string folder = Folder("real"), script = folder + ".py";
  Watched run(folder);
  ASSERT_TRUE(run.session.Train(3, {run.writer.get()}).ok());
  std::ofstream(script) << R"(import sys
from tensorboard.backend.event_processing import event_accumulator as ea
a = ea.EventAccumulator(sys.argv[1], size_guidance={ea.TENSORS: 0, ea.SCALARS: 0}); a.Reload()
tags = a.Tags()
print('graph', tags['graph'], len(a.Graph().node))
def points(tag):
    return a.Tensors(tag) if tag in tags['tensors'] else a.Scalars(tag)
print('loss', [e.step for e in points('categorical_cross_entropy')])
h = a.Tensors('parameters/2_FC/weights')
print('histogram', [e.step for e in h], h[0].tensor_proto.tensor_shape.dim[0].size)
v = ea.EventAccumulator(sys.argv[2], size_guidance={ea.TENSORS: 0}); v.Reload()
print('images', [e.step for e in v.Tensors('samples')], list(v.PluginTagToContent('images')))
for plugin in ('scalars', 'histograms', 'text', 'hparams'):
    print(plugin, len(a.PluginTagToContent(plugin)))
)";
  const std::string command =
      std::string(python) + " " + script + " " + folder + "/train " + folder + "/validation 2>&1";
  std::FILE* const pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string text;
  for (int c; (c = std::fgetc(pipe)) != EOF;) text += char(c);
  EXPECT_EQ(pclose(pipe), 0) << text;
  EXPECT_EQ(text, StrCat("graph True ", run.graph.nodes().size(),
                         "\nloss [1, 2, 3]\nhistogram [1, 2, 3] 30\nimages [1] "
                         "['samples']\nscalars 5\nhistograms ",
                         2 * Parameters(run.graph), "\ntext 1\nhparams 1\n"));
}

}  // namespace
}  // namespace dtnn
