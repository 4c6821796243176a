#include "optim/optimizers/optimizers.h"

#include <cmath>
#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "optim/optimizers/adamw.h"
#include "optim/optimizers/oktopk.h"

namespace dtnn {
namespace {

TEST(OptimizersTest, EveryNameMakesTheOptimizerOfThatName) {
  EXPECT_EQ(OptimizerNames().size(), 6);
  for (std::string_view name : OptimizerNames()) {
    const auto optimizer = MakeOptimizer(name);
    ASSERT_TRUE(optimizer.ok()) << optimizer.status();
    EXPECT_EQ((*optimizer)->name(), name);
  }
}

TEST(OptimizersTest, WhatIsNotGivenKeepsTheOptimizersOwnDefault) {
  EXPECT_EQ((*MakeOptimizer("adamw"))->constants(), Adamw().constants());
  EXPECT_EQ((*MakeOptimizer("adamw", {.beta2 = 0.9, .decay = 0.5}))->constants(),
            Adamw({.beta2 = 0.9, .decay = 0.5}).constants());
  const auto nesterov = MakeOptimizer("sgd", {.momentum = 0.5, .nesterov = true});
  EXPECT_EQ((*nesterov)->constants().at("momentum"), 0.5);
  EXPECT_EQ((*nesterov)->constants().at("nesterov"), 1);
  EXPECT_EQ((*MakeOptimizer("oktopk", {.density = 0.5, .tau = 3}))->constants(),
            Oktopk({.density = 0.5, .tau = 3}).constants());
  EXPECT_EQ((*MakeOptimizer("rmsprop", {.rho = 0.25}))->constants().at("rho"), 0.25);
}

TEST(OptimizersTest, ConstantsMakeTheSameOptimizerAgain) {
  const OptimizerConstants others = {.momentum = 0.5,
                                     .beta1 = 0.5,
                                     .beta2 = 0.25,
                                     .rho = 0.5,
                                     .epsilon = 0.25,
                                     .decay = 0.5,
                                     .average_decay = 0.5,
                                     .density = 0.5,
                                     .tau = 3,
                                     .tau_prime = 2,
                                     .nesterov = true,
                                     .decay_vectors = false};
  const std::map<std::string, double> given = {
      {"momentum", 0.5}, {"beta1", 0.5},  {"beta2", 0.25},        {"rho", 0.5},
      {"epsilon", 0.25}, {"decay", 0.5},  {"density", 0.5},       {"tau", 3},
      {"tau'", 2},       {"nesterov", 1}, {"decay of vectors", 0}};
  for (std::string_view name : OptimizerNames()) {
    const auto constants = (*MakeOptimizer(name, others))->constants();
    // Each takes what was given of everything that it has.
    for (const auto& [constant, standard] : (*MakeOptimizer(name))->constants()) {
      ASSERT_TRUE(given.contains(constant)) << name << " " << constant;
      EXPECT_EQ(constants.at(constant), given.at(constant)) << name << " " << constant;
    }
    EXPECT_EQ(constants.at("decay of vectors"), 0) << name;
    EXPECT_EQ(constants.at("average decay"), 0.5) << name;
    const auto again = ConstantsFrom(constants);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ((*MakeOptimizer(name, *again))->constants(), constants) << name;
  }
  for (const auto& [name, value] :
       {std::pair("speed", 1.0), std::pair("tau", 0.5), std::pair("tau'", 0x1p40 + 1),
        std::pair("density", 2.0), std::pair("tau'", std::nan(""))}) {
    const absl::Status status = ConstantsFrom({{name, value}}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(name));
  }
}

TEST(OptimizersTest, ConstantsReachTheirLimits) {
  for (const auto& [name, value] :
       {std::pair("tau", 1.0), std::pair("tau'", 0x1p40), std::pair("density", 1.0)}) {
    EXPECT_EQ(ConstantsFrom({{name, value}}).status(), absl::OkStatus()) << name;
  }
}

TEST(OptimizersTest, AnotherNameIsAnsweredWithTheNames) {
  EXPECT_THAT(std::string(MakeOptimizer("lion").status().message()),
              ::testing::AllOf(::testing::HasSubstr("lion"), ::testing::HasSubstr("sgd, rmsprop")));
}

}  // namespace
}  // namespace dtnn
