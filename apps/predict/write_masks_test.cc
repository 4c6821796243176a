#include "apps/predict/write_masks.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "apps/predict/ask.h"
#include "comm/ranks/job/exit_code.h"
#include "data/images/image.h"
#include "data/testing/idx_files.h"
#include "data/testing/image_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/device/context.h"
#include "models/graph/builder.h"
#include "models/parameters/parameter_store.h"
#include "models/serving/saved_model.h"
#include "models/zoo/zoo.h"
#include "tensor/files/atomic_file.h"

namespace dtnn {
namespace {

using testing::Ask;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::WriteFile;

// A file with the network, whose first parameters have these values.
std::string Saved(const Graph& graph, const std::string& path, const std::vector<float>& values) {
  const auto context = DeviceContext::Create(Device::Cpu()).value();
  const auto store = ParameterStore::Create(graph, *context, DType::kFloat32, 0).value();
  std::ranges::copy(values, store->values().data<float>());
  EXPECT_TRUE(SaveModel(path,
                        {.graph = graph,
                         .preprocessing = {.geometry = ImageGeometry{.geometry = {.resize = 8}}}},
                        *store, *context)
                  .ok());
  return path;
}

// A network that gives each pixel the class of its largest channel.
std::string PixelModel(const std::string& path) {
  GraphBuilder b("largest", TensorFormat::kNHWC);
  const Graph graph =
      b.Input({8, 8, 3}).Conv2d(3, {.kernel = 1, .bias = false}).Softmax().Build().value();
  return Saved(graph, path, {9, 0, 0, 0, 9, 0, 0, 0, 9});
}

Image MaskIn(const std::string& path) {
  const auto bytes = ReadFile(path, 1 << 20);
  if (!bytes.ok()) return {};
  return DecodeMask({reinterpret_cast<const uint8_t*>(bytes->data()), bytes->size()}, path)
      .value_or(Image{});
}

TEST(WriteMasksTest, MasksShowTheClassOfEachPixel) {
  const std::string folder = testing::NewFolder("predict_masks"), masks = folder + "/masks";
  std::filesystem::create_directories(folder + "/images/deep");
  testing::Bytes pixels;
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 24; ++x) {
      for (int c = 0; c < 3; ++c) pixels.push_back(c == (x < 12 ? 0 : y < 8 ? 1 : 2) ? 250 : 5);
    }
  }
  WriteFile(folder + "/images", "a.png", testing::EncodePng(16, 24, pixels));
  WriteFile(folder + "/images/deep", "b.jpg", testing::FlatJpeg(5, 7, {20, 200, 20}));
  PredictOptions options = {
      .model_file = PixelModel(folder + "/m.safetensors"), .mask_dir = masks, .batch = 1};
  const testing::Answer outcome = Ask(options, {folder + "/images"});
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.errors, "");
  EXPECT_EQ(outcome.out, folder + "/images/a.png: " + masks + "/a.png\n" + folder +
                             "/images/deep/b.jpg: " + masks + "/b.png\n");
  const Image a = MaskIn(masks + "/a.png"), b = MaskIn(masks + "/b.png");
  ASSERT_EQ(a.extents, (ImageExtents{16, 24, 1}));
  for (size_t i = 0; i < a.pixels.size(); ++i) {
    EXPECT_EQ(a.pixels[i], i % 24 < 12 ? 0 : i / 24 < 8 ? 1 : 2) << i;
  }
  ASSERT_EQ(b.extents, (ImageExtents{5, 7, 1}));
  EXPECT_EQ(b.pixels, testing::Bytes(35, 1));

  // The other forms, and files that exist.
  options.format = "csv";
  EXPECT_EQ(Ask(options, {folder + "/images/a.png"}).out,
            "file,mask\n" + folder + "/images/a.png," + masks + "/a.png\n");
  options.format = "json";
  const std::string broken = WriteFile(folder, "c.png", testing::Bytes{1, 2, 3});
  const testing::Answer json = Ask(options, {broken, folder + "/images/a.png"});
  EXPECT_EQ(ExitCodeOf(json.status), kExitFailed);
  EXPECT_THAT(json.out, HasSubstr("\"mask\": \"" + masks + "/a.png\"}\n]"));
  EXPECT_THAT(json.out, HasSubstr("\"error\": \"" + broken + ": is neither"));
  EXPECT_FALSE(std::filesystem::exists(masks + "/c.png"));
}

// --mask-dir names the folder of the masks that the network learned from.
TEST(WriteMasksTest, MasksOfOthersAreNotReplaced) {
  const std::string folder = testing::NewFolder("predict_masks");
  std::filesystem::create_directories(folder + "/images");
  std::filesystem::create_directories(folder + "/masks");
  for (const char* name : {"a.png", "b.png"}) {
    WriteFile(folder + "/images", name, testing::EncodePng(8, 8, testing::SmoothPixels(8, 8, 3)));
  }
  const testing::Bytes drawn = testing::EncodePng(8, 8, testing::Bytes(64, 2), {.color_type = 0});
  const std::string mask = WriteFile(folder + "/masks", "b.png", drawn);
  const PredictOptions options = {.model_file = PixelModel(folder + "/m.safetensors"),
                                  .mask_dir = folder + "/masks"};
  const testing::Answer refused = Ask(options, {folder + "/images"});
  EXPECT_EQ(refused.status.message(),
            "--mask-dir: " + mask +
                ": is not a mask written by DTNN, and would be overwritten; choose another name, "
                "or delete the file");
  EXPECT_EQ(MaskIn(mask).pixels, testing::Bytes(64, 2));
  EXPECT_FALSE(std::filesystem::exists(folder + "/masks/a.png")) << "nothing was written";
  std::filesystem::remove(mask);
  for (int i = 0; i < 2; ++i) {  // and its own once more
    const testing::Answer written = Ask(options, {folder + "/images"});
    EXPECT_TRUE(written.status.ok()) << written.status;
  }
}

TEST(WriteMasksTest, MasksThatCannotBeAreRefused) {
  const std::string folder = testing::NewFolder("predict_masks");
  std::filesystem::create_directories(folder + "/1");
  std::filesystem::create_directories(folder + "/2");
  const auto image = testing::EncodePng(8, 8, testing::SmoothPixels(8, 8, 3));
  for (const char* name : {"/1", "/2"}) WriteFile(folder + name, "a.png", image);
  const std::string model = PixelModel(folder + "/m.safetensors");
  const Graph mlp =
      BuildModel("simplemlp",
                 {.format = TensorFormat::kNHWC, .sample = ImageExtents{8, 8, 3}, .classes = 2})
          .value();
  const std::string of_images = Saved(mlp, folder + "/c.safetensors", {});
  const auto refusal = [&](const std::string& file, const std::string& masks,
                           const std::vector<std::string>& paths) {
    const absl::Status status = Ask({.model_file = file, .mask_dir = masks}, paths).status;
    EXPECT_EQ(ExitCodeOf(status), kExitUsage) << status;
    return std::string(status.message());
  };
  EXPECT_EQ(
      refusal(of_images, folder + "/masks", {folder + "/1"}),
      "--mask-dir: network simplemlp gives no class for each pixel; its output is (2,) and its "
      "last layer Softmax, expected an image and Softmax; leave the option out");
  EXPECT_EQ(refusal(model, folder + "/masks", {folder + "/1", folder + "/2"}),
            "--mask-dir: " + folder + "/1/a.png and " + folder + "/2/a.png have the same mask, " +
                folder + "/masks/a.png; give each its own run and folder");
  EXPECT_EQ(refusal(model, folder + "/2/../1/.", {folder + "/1"}),
            "--mask-dir: the mask of " + folder + "/1/a.png would replace the image " + folder +
                "/1/a.png; name another folder");
  EXPECT_FALSE(std::filesystem::exists(folder + "/masks"));
  const testing::Answer no_folder = Ask({.model_file = model, .mask_dir = model}, {folder + "/1"});
  EXPECT_THAT(std::string(no_folder.status.message()), StartsWith("--mask-dir: " + model + ": "));
  EXPECT_THAT(Ask({.model_file = model}, {folder + "/1"}).errors,
              HasSubstr("warning: the network gives probabilities for each pixel, and all of them "
                        "are printed; --mask-dir "));
}

}  // namespace
}  // namespace dtnn
