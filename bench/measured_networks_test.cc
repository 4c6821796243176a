#include "bench/measured_networks.h"

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "apps/flags/tool_flags.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(MeasuredNetworksTest, FlagsSetWhatARunIsMadeOf) {
  MeasuredNetworks options = {.models = "simplecnn", .math_mode = "fp32"};
  const std::vector<std::string> arguments = {"--models=simplemlp,simplecnn8", "--batch=7",
                                              "--format=NCHW", "--math-mode=bf16"};
  ASSERT_TRUE(ParseToolFlags(arguments, options.Flags()).ok());
  EXPECT_THAT(*options.Names(), ElementsAre("simplemlp", "simplecnn8"));
  const ModelRunOptions run = options.RunOf("simplecnn8");
  EXPECT_EQ(run.model, "simplecnn8");
  EXPECT_EQ(run.batch, 7);
  EXPECT_EQ(run.format, TensorFormat::kNCHW);
  EXPECT_EQ(run.math_mode, MathMode::kBf16);
  EXPECT_FALSE(run.int8);
  EXPECT_FALSE(ParseToolFlags({{"--math-mode=int8"}}, options.Flags()).ok());
  ASSERT_TRUE(ParseToolFlags({{"--math-mode=int8"}}, options.Flags(/*int8=*/true)).ok());
  EXPECT_TRUE(options.RunOf("simplecnn8").int8);
  EXPECT_EQ(options.RunOf("simplecnn8").math_mode, MathMode::kFp32);
  options.models = "simplecnn9";
  EXPECT_THAT(std::string(options.Names().status().message()), HasSubstr("--models=simplecnn9"));
}

TEST(MeasuredNetworksTest, LinesAreAppended) {
  const std::string path = ::testing::TempDir() + "/lines.json";
  std::ofstream(path) << "a\n";
  MeasuredNetworks options = {.math_mode = "fp32", .json = path};
  EXPECT_TRUE(options.Append("b\n").ok());
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "a\nb\n");
  options.json = "/no/such/folder/lines.json";
  EXPECT_THAT(std::string(options.Append("b\n").message()), HasSubstr("cannot be written"));
}

}  // namespace
}  // namespace dtnn
