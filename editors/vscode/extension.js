// Starts `schedulog lsp` for rule files and stops it with the editor.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = function () {
  const [command, ...args] = workspace.getConfiguration("schedulog").get("command");
  const options = { documentSelector: [{ scheme: "file", language: "schedulog" }] };
  client = new LanguageClient("schedulog", "schedulog", { command, args }, options);
  return client.start();
};

exports.deactivate = function () {
  return client && client.stop();
};
