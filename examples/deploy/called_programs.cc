#include "examples/deploy/called_programs.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "apps/testing/process.h"
#include "data/testing/idx_files.h"
#include "gtest/gtest.h"

namespace dtnn::testing {
namespace {

std::vector<std::string> Pieces(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::string> pieces;
  for (std::string piece; std::getline(file, piece, '\0');) pieces.push_back(piece);
  return pieces;
}

}  // namespace

const char* ProgramCall::Get(const char* name) const {
  const auto found = variables.find(name);
  return found == variables.end() ? nullptr : found->second.c_str();
}

CalledPrograms::CalledPrograms() : folder_(NewFolder("called")) {
  std::filesystem::create_directory(folder_ + "/bin");
  std::filesystem::create_directory(folder_ + "/calls");
  Add("dtnn", "call=" + folder_ +
                  "/calls/$$\n"
                  "mkdir $call\nprintf '%s\\0' \"$@\" >$call/arguments\nenv -0 >$call/variables\n");
  Add("sleep", "exit 0\n");
}

void CalledPrograms::Add(const std::string& name, const std::string& script) {
  const std::string path = folder_ + "/bin/" + name;
  std::ofstream(path) << "#!/bin/sh\n" << script;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

std::map<std::string, ProgramCall> CalledPrograms::Run(const std::string& command,
                                                       const std::string& variables,
                                                       const std::string& variable) {
  for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/calls")) {
    std::filesystem::remove_all(entry);
  }
  const Outcome outcome = Launch("env", variables + " PATH=" + folder_ + "/bin:$PATH " + command);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  std::map<std::string, ProgramCall> calls;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/calls")) {
    ProgramCall call = {.arguments = Pieces(entry.path() / "arguments")};
    for (const std::string& pair : Pieces(entry.path() / "variables")) {
      const size_t equals = pair.find('=');
      call.variables[pair.substr(0, equals)] = pair.substr(equals + 1);
    }
    const std::string key = call.variables[variable];
    EXPECT_TRUE(calls.emplace(key, std::move(call)).second) << variable << "=" << key << " twice";
  }
  return calls;
}

}  // namespace dtnn::testing
