// What the flags of serve say.

#ifndef DTNN_APPS_SERVE_SERVE_OPTIONS_H_
#define DTNN_APPS_SERVE_SERVE_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "apps/flags/listen_options.h"

namespace dtnn {

// A flag that is given once per file.
struct ModelFiles {
  std::vector<std::string> paths = {};
};
inline std::string AsOption(const ModelFiles&) { return ""; }
inline void FromOption(const std::string& path, ModelFiles& files) { files.paths.push_back(path); }

struct ServeOptions : ListenOptions {
  ModelFiles models = {};
  int64_t port = 8000;  // 0: a free one
  int64_t max_batch = 32;
  double max_delay = 0;  // milliseconds
  int64_t max_queue = 1024;
  int64_t max_body = 32;  // MB
  int64_t max_connections = 256;
  int64_t address_connections = 0;         // 0: any number
  double timeout = 30, stop_timeout = 30;  // seconds
  std::string math_mode = "fp32";          // or bf16, int8
  std::string log_format = "text";         // or json
};

}  // namespace dtnn

#endif  // DTNN_APPS_SERVE_SERVE_OPTIONS_H_
