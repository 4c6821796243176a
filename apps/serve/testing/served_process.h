// The program serve, run by tests, and models for it.

#ifndef DTNN_APPS_SERVE_TESTING_SERVED_PROCESS_H_
#define DTNN_APPS_SERVE_TESTING_SERVED_PROCESS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "apps/testing/process.h"
#include "comm/http/testing/http_client.h"
#include "models/graph/graph.h"

namespace dtnn::testing {

// Images of 6x5 pixels, 3 channels, and some classes.
Graph ServedNet(int64_t classes = 4, TensorFormat format = TensorFormat::kNHWC);
// Saves it with parameters that the seed decides, and names "c0", "c1", ... of its classes.
void SaveServed(const std::string& path, const Graph& graph, uint64_t seed);

class ServedProcess {
 public:
  // Serves the models at a free port. Returns when it listens.
  explicit ServedProcess(const std::vector<std::string>& models,
                         const std::vector<std::string>& flags = {});

  uint16_t port() const { return port_; }
  Process& process() { return process_; }
  // On a connection of its own.
  HttpResponse Ask(std::string_view request) const { return HttpClient(port_).Ask(request); }
  std::string Get(std::string_view path) const { return Ask(HttpGet(path)).body; }
  // SIGHUP, until the server says this.
  void Reload(std::string_view said);
  // SIGTERM, and the end.
  Outcome Stop();

 private:
  Process process_;
  uint16_t port_ = 0;
};

}  // namespace dtnn::testing

#endif  // DTNN_APPS_SERVE_TESTING_SERVED_PROCESS_H_
