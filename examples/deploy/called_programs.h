// Scripts run by tests where programs of a cluster, and ours, only note how they were called.

#ifndef DTNN_EXAMPLES_DEPLOY_CALLED_PROGRAMS_H_
#define DTNN_EXAMPLES_DEPLOY_CALLED_PROGRAMS_H_

#include <map>
#include <string>
#include <vector>

namespace dtnn::testing {

struct ProgramCall {
  std::vector<std::string> arguments = {};  // of dtnn: the program's name is the first
  std::map<std::string, std::string> variables = {};

  // Like getenv().
  const char* Get(const char* name) const;
};

class CalledPrograms {
 public:
  CalledPrograms();

  // A program that a script may call, as a script of sh.
  void Add(const std::string& name, const std::string& script);
  // Runs a command of sh with these variables, such as "A=1 B=2"; it must succeed. What calls of
  // dtnn came of it, by their rank or index in `variable`.
  std::map<std::string, ProgramCall> Run(const std::string& command, const std::string& variables,
                                         const std::string& variable);

 private:
  const std::string folder_;
};

}  // namespace dtnn::testing

#endif  // DTNN_EXAMPLES_DEPLOY_CALLED_PROGRAMS_H_
