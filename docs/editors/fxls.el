;;; fxls.el --- The generated code of PyTorch models, with Eglot and GUD  -*- lexical-binding: t -*-

;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1") (eglot "1.8"))
;; Keywords: languages, tools

;;; Commentary:

;; Install it as a package, and write (require 'fxls) in your init file; or load this file there.
;; Needs Emacs 29, or Emacs 28 with the package eglot.  docs/editors.md says how to use it.

;;; Code:

(require 'eglot)
(require 'gud)

(defvar fxls-trust-file (locate-user-emacs-file "fxls-trusted.eld")
  "The folders that you were asked about, each with whether its code may run.")

(defun fxls--answers ()
  (when (file-readable-p fxls-trust-file)
    (with-temp-buffer
      (insert-file-contents fxls-trust-file)
      (ignore-errors (read (current-buffer))))))

(defun fxls-trusts (folder)
  "Whether the code of FOLDER may run: asked once, and remembered.
A folder in one that is trusted is trusted."
  (let* ((folder (file-name-as-directory (file-truename folder)))
         (answers (fxls--answers))
         (answer (assoc folder answers)))
    (cond
     (answer (cdr answer))
     ((seq-some (lambda (one) (and (cdr one) (string-prefix-p (car one) folder))) answers))
     (t (let ((yes (yes-or-no-p
                    (format "Run the code of %s (its .venv, the models that you open)? "
                            folder))))
          (with-temp-file fxls-trust-file
            (prin1 (cons (cons folder yes) answers) (current-buffer)))
          yes)))))

(defun fxls-program (name)
  "The program NAME of the project's .venv, when that is trusted, else of the PATH."
  (let* ((folder (locate-dominating-file default-directory ".venv"))
         (there (and folder (expand-file-name (concat ".venv/bin/" name) folder))))
    (if (and there (file-executable-p there) (fxls-trusts folder)) there name)))

(defun fxls-serve (&rest _)
  "How Eglot starts the server.
In a folder that you trust it runs the entries of the files that you open."
  (let* ((project (project-current))
         (folder (if project (project-root project) default-directory)))
    (list (fxls-program "fxls") "serve" :initializationOptions
          (list :trusted (if (fxls-trusts folder) t :json-false)))))

(add-to-list 'eglot-server-programs '((python-mode python-ts-mode) . fxls-serve))

(defun fxls--uri (file)
  (browse-url-file-url (expand-file-name file)))

(defun fxls--listings ()
  "The listings that have nodes from this file, as the server describes them."
  (append (jsonrpc-request (eglot-current-server) :fxls/listings
                           `(:textDocument (:uri ,(fxls--uri buffer-file-name))))
          nil))

(defun fxls-trace ()
  "Trace the entries of this file."
  (interactive)
  (dolist (item (append (jsonrpc-request
                         (eglot-current-server) :workspace/executeCommand
                         `(:command "fxls.trace" :arguments [,(fxls--uri buffer-file-name)])
                         :timeout 120)
                        nil))
    (message "%s: %s" (plist-get item :expression)
             (or (plist-get item :message) (plist-get item :path)))))

(defun fxls--choose ()
  "A listing of this file, which is traced when it has none."
  (let ((items (or (fxls--listings) (progn (fxls-trace) (fxls--listings)))))
    (unless items
      (user-error "There is no generated code; write an entry: # fxls: Net()(torch.randn(1, 3))"))
    (if (cdr items)
        (let ((names (mapcar (lambda (item) (cons (plist-get item :path) item)) items)))
          (cdr (assoc (completing-read "Listing: " names nil t) names)))
      (car items))))

(defun fxls-show-generated-code ()
  "Open the generated code of this file in another window."
  (interactive)
  (find-file-other-window (plist-get (fxls--choose) :path)))

(defun fxls--pdb (&rest command)
  (pdb (combine-and-quote-strings command)))

(defun fxls-debug ()
  "Debug the generated code of this file: stop on its first line.
There, \\[gud-break] sets a breakpoint."
  (interactive)
  (let ((entry (plist-get (fxls--choose) :entry)))
    (fxls--pdb (fxls-program "fxls") "debug" (concat buffer-file-name ":" entry))))

(defun fxls-debug-file ()
  "Debug this program."
  (interactive)
  (fxls--pdb (fxls-program "python") "-m" "fxls.pdb" buffer-file-name))

(defun fxls--listing-setup ()
  "To change what is generated, change the model."
  (when (and buffer-file-name (string-match-p "/\\.fxls/[^/]+\\.py\\'" buffer-file-name))
    (read-only-mode)))

(defun fxls--project (folder)
  "A project without version control has its listings in it as well."
  (let ((root (locate-dominating-file folder "pyproject.toml")))
    (and root (cons 'transient root))))

(add-hook 'project-find-functions #'fxls--project 90)
(add-hook 'python-mode-hook #'eglot-ensure)
(add-hook 'python-ts-mode-hook #'eglot-ensure)
(add-hook 'find-file-hook #'fxls--listing-setup)

(defvar fxls-map (make-sparse-keymap) "The keys of fxls.")
(define-key fxls-map "g" #'fxls-show-generated-code)
(define-key fxls-map "t" #'fxls-trace)
(define-key fxls-map "d" #'fxls-debug)
(define-key fxls-map "D" #'fxls-debug-file)
(global-set-key (kbd "C-c x") fxls-map)

(provide 'fxls)
;;; fxls.el ends here
