#include "models/run/parts/model_file.h"

#include <memory>
#include <string>

#include "comm/ranks/job/exit_code.h"
#include "data/testing/counting_dataset.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/parameters/weights.h"
#include "models/run/options/in_force.h"
#include "models/serving/testing/overstated_model.h"
#include "models/zoo/zoo.h"

namespace dtnn {
namespace {

using testing::CountingDataset;
using ::testing::HasSubstr;

SavedModel Trained() {
  SavedModel model = {.graph = *BuildModel("simplemlp", {.format = TensorFormat::kNCHW,
                                                         .sample = ImageExtents{8, 8, 1},
                                                         .classes = 6}),
                      .dtype = DType::kFloat64};
  model.preprocessing.normalization = {{-1}, {2}};
  model.preprocessing.geometry = ImageGeometry{{.square = true, .crop = 0.75, .resize = 8}};
  model.description.loss = "mse";
  return model;
}

TEST(ModelFileTest, OptionsFollowTheModelUnlessTheyAreGiven) {
  RunOptions options;
  options.training.evaluate_only = true;
  ASSERT_TRUE(FollowModel(Trained(), options).ok());
  EXPECT_EQ(options.network.name, "simplemlp");
  EXPECT_EQ(options.network.dtype, DType::kFloat64);
  EXPECT_EQ(options.network.format, "NCHW");
  EXPECT_EQ(options.training.loss, "mse");
  EXPECT_EQ(options.data.center_square, true);
  EXPECT_EQ(options.data.center_crop, true);
  EXPECT_EQ(options.data.center_crop_share, 0.75);
  EXPECT_EQ(options.data.resize, true);
  EXPECT_EQ(options.data.resize_side, 8);

  RunOptions trains;
  ASSERT_TRUE(FollowModel(Trained(), trains).ok());
  EXPECT_EQ(trains.training.loss, "mse") << "its outputs are made for that loss";
  EXPECT_EQ(WatchedBy("early_stopping", trains), "val_mse") << "schedulers watch the loss";
}

TEST(ModelFileTest, ALossThatIsNotKnownMustBeReplaced) {
  SavedModel model = Trained();
  model.description.loss = "focal";
  RunOptions options;
  options.network.weights = "a.npz";
  const absl::Status status = FollowModel(model, options);
  EXPECT_EQ(ExitCodeOf(status), kExitUsage);
  EXPECT_EQ(status.message(),
            "RunOptions::training.loss: missing, and a.npz was trained with \"focal\", which is "
            "not one of its "
            "losses");
  options.training.loss = "mse";
  EXPECT_TRUE(FollowModel(model, options).ok());
}

TEST(ModelFileTest, OptionsThatAreSetStayEvenWithTheirDefaults) {
  RunOptions expected;
  expected.network = {.dtype = DType::kFloat32, .format = "AUTO"};
  expected.training = {.loss = "categorical_cross_entropy", .evaluate_only = true};
  expected.data = {.center_crop = false};
  RunOptions options = expected;
  ASSERT_TRUE(FollowModel(Trained(), options).ok());
  expected.network.name = "simplemlp";
  EXPECT_EQ(options, expected);
  options.data = {.resize = false};
  ASSERT_TRUE(FollowModel(Trained(), options).ok());
  EXPECT_EQ(options.data.center_crop, std::nullopt);
}

// As ImageNet's archives do, which hold 227 x 227 pixels.
TEST(ModelFileTest, ADataSetThatCutsItsOwnImagesIsLeftAlone) {
  SavedModel model = Trained();
  model.preprocessing.geometry = ImageGeometry{{.square = true, .crop = 0.75, .resize = 11}};
  RunOptions options;
  ASSERT_TRUE(FollowModel(model, options).ok());
  EXPECT_EQ(options.data.center_square, std::nullopt);
  EXPECT_EQ(options.data.center_crop, std::nullopt);
  EXPECT_EQ(options.data.resize, std::nullopt);
}

// Else an evaluation would open the other side of 224 and 227.
TEST(ModelFileTest, ADataSetsOwnSamplesAreThoseOfTraining) {
  SavedModel model = Trained();
  EXPECT_EQ(SampleOf(model), (ImageExtents{8, 8, 1}));
  model.preprocessing.geometry = ImageGeometry{
      .geometry = {.square = true, .resize = 227}, .side = 227, .then = {.resize = 8}};
  EXPECT_EQ(SampleOf(model), (ImageExtents{227, 227, 1}));
}

TEST(ModelFileTest, LoadersNormaliseAsInTraining) {
  const SavedModel model = Trained();
  const CountingDataset dataset(6, {8, 8, 1});
  RunOptions options;
  EXPECT_EQ(NormalizationFor(model, options, dataset), model.preprocessing.normalization);
  options.data.standardize = false;
  EXPECT_EQ(NormalizationFor(model, options, dataset), std::nullopt);
}

TEST(ModelFileTest, TheNetworkMustFitTheData) {
  RunOptions options;
  options.network.format = "NHWC";
  options.network.weights = "m.npz";
  options.data.name = "counting";
  const auto size = [](int64_t outputs) {
    return DatasetSize{.sample = {8, 8, 1}, .outputs = outputs};
  };
  const absl::StatusOr<Graph> graph = NetworkFor(Trained(), options, size(6));
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->format(), TensorFormat::kNHWC);
  EXPECT_EQ(graph->input_shape(), (Shape{8, 8, 1}));
  EXPECT_TRUE(NetworkFor(Trained(), options, std::nullopt).ok()) << "of sizes that are not known";
  EXPECT_THAT(std::string(NetworkFor(Trained(), options, size(7)).status().message()),
              HasSubstr("m.npz: its network takes samples of 8x8x1 (height x width x channels) and "
                        "has 6 outputs, but data set counting has 8x8x1 and 7"));
  options.data.name = "";  // an object's
  EXPECT_THAT(std::string(NetworkFor(Trained(), options, size(7)).status().message()),
              HasSubstr("has 6 outputs, but the data set has 8x8x1 and 7"));
}

TEST(ModelFileTest, ParametersAloneNeedTheNameOfTheirNetwork) {
  const std::string path = testing::NewFolder("model_file") + "/w.npz";
  const auto device = *DeviceContext::Create(Device::Cpu());
  const SavedModel model = Trained();
  const auto store = *ParameterStore::Create(model.graph, *device, model.dtype, 1);
  ASSERT_TRUE(SaveWeights(path, model.graph, *store, *device).ok());
  const absl::Status status = ReadModelToRun(path).status();
  EXPECT_EQ(ExitCodeOf(status), kExitUsage);
  EXPECT_THAT(std::string(status.message()), HasSubstr("RunOptions::network.name: missing, and " +
                                                       path + " contains parameters only"));
  ASSERT_TRUE(SaveModel(path, model, *store, *device).ok());
  EXPECT_EQ(ReadModelToRun(path)->graph.name(), "simplemlp");
}

TEST(ModelFileTest, AFileThatPromisesTooMuchIsRefused) {
  const std::string path = testing::NewFolder("model_file") + "/net.safetensors";
  const std::string message = testing::SaveOverstatedModel(path);
  EXPECT_EQ(ReadModelToRun(path).status().message(), message);
}

TEST(ModelFileTest, WhatCannotBeWrittenShowsBeforeTraining) {
  EXPECT_TRUE(CheckModelFile("").ok());
  EXPECT_EQ(ExitCodeOf(CheckModelFile("model.txt")), kExitUsage);
  EXPECT_EQ(ExitCodeOf(CheckModelFile("/none/model.npz")), kExitFailed);
  EXPECT_TRUE(CheckModelFile(testing::NewFolder("model_file") + "/m.safetensors").ok());
}

}  // namespace
}  // namespace dtnn
